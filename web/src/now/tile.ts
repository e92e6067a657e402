import type { Schemas } from '../api/client'
import { partsOf } from '../sessions/session'

type Session = Schemas['Session']
type Task = Schemas['TaskCard']

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

/**
 * Returns the task the agent works on: that of its session, else the one it has claimed, else the one it started last.
 */
export function currentTask(
  user: string | undefined,
  tasks: readonly Task[],
  session: Session | undefined,
): Task | undefined {
  const key = session?.active ? partsOf(session.key).task : undefined
  const going = tasks.filter(t => t.status === 'in_progress')
  return (
    going.find(t => t.key === key) ??
    going.find(t => user !== undefined && t.claim?.by === user) ??
    going.filter(t => user !== undefined && t.assignee_id === user).sort((a, b) => text(a.moved_at, b.moved_at))[0]
  )
}
