import type { Schemas } from '../api/client'
import type { Message } from './transcript'

type Session = Schemas['Session']

/** Returns the key in lowercase, as the runtime returns it. */
export const canonical = (key: string): string => key.toLowerCase()

/** The live sessions loaded so far. */
export interface Live {
  rows: Session[]
  /** Number of sessions that weren't loaded; null if unknown. */
  more: number | null
}

export const liveKey = ['sessions', 'live'] as const
export const oneKey = (key: string) => ['sessions', 'one', canonical(key)] as const
export const saidKey = (key: string) => ['sessions', 'said', canonical(key)] as const

/** A session event: a changed row, or the key of a deleted session. */
export type SessionEvent = { row: Session } | { gone: string }

/**
 * Collects the events of the last minute. A list response that was requested earlier may lack them, so they are applied
 * to it again.
 */
export class RecentEvents<T> {
  private readonly list: { at: number; what: T }[] = []

  note(what: T): void {
    const at = performance.now()
    this.list.push({ at, what })
    while (this.list.length > 2000 || (this.list[0] && this.list[0].at < at - 60_000)) this.list.shift()
  }

  since(at: number): T[] {
    return this.list.filter(h => h.at >= at).map(h => h.what)
  }
}

export const told = new RecentEvents<SessionEvent>()
export const heard = new RecentEvents<{ key: string; message: Message }>()

/** Applies an event to the rows. An older row is ignored. */
export function applyTold(rows: Session[], what: SessionEvent): Session[] {
  const key = canonical('row' in what ? what.row.key : what.gone)
  const at = rows.findIndex(r => canonical(r.key) === key)
  if ('gone' in what) return at < 0 ? rows : rows.filter((_, i) => i !== at)
  const was = rows[at]
  if (!was) return [what.row, ...rows]
  if (was.as_of > what.row.as_of) return rows
  const next = [...rows]
  next[at] = what.row
  return next
}
