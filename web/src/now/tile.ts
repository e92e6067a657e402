import type { Session } from '../sessions/session'

const text = (a: string | null, b: string | null) => (b ?? '').localeCompare(a ?? '')

/** Returns the session to show for an agent: the one with the latest active run, else the latest used. */
export function sessionOf(agent: string, sessions: readonly Session[]): Session | undefined {
  return sessions
    .filter(s => s.agent_id === agent)
    .sort(
      (a, b) =>
        Number(b.active) - Number(a.active) ||
        (a.active ? text(a.started_at, b.started_at) : text(a.updated_at, b.updated_at)),
    )[0]
}
