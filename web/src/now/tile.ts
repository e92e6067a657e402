import type { Session } from '../sessions/session'

const text = (a: string | null, b: string | null) => (a ?? '~').localeCompare(b ?? '~')

/** Runs of sub-agents come after others, like on the server. */
const isSub = (s: Session) => Number(/^agent:[^:]+:subagent:/i.test(s.key))

/**
 * Returns the session to show for an agent. Its status is that of one session, so that the title and the words are too:
 * the session that `told` names, such as one that waits for a person; else the one that is silent longest; else the one
 * whose run started first. Without a run, it is the one used last.
 */
export function sessionOf(agent: string, sessions: readonly Session[], told?: string): Session | undefined {
  return sessions
    .filter(s => s.agent_id === agent)
    .sort(
      (a, b) =>
        Number(b.active) - Number(a.active) ||
        (a.active
          ? Number(b.key === told) - Number(a.key === told) ||
            Number(b.stalled) - Number(a.stalled) ||
            text(a.silent_since, b.silent_since) ||
            isSub(a) - isSub(b) ||
            text(a.started_at, b.started_at)
          : (b.updated_at ?? '').localeCompare(a.updated_at ?? '')),
    )[0]
}
