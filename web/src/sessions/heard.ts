import type { Session } from './session'
import type { Message } from './transcript'

/** A key as the runtime gives it back: in small letters, however it was asked for. */
export const canonical = (key: string): string => key.toLowerCase()

/** The runtime's sessions, as far as they were read. */
export interface Live {
  rows: Session[]
  /** How many more there are that were not read; null when nobody counted them. */
  more: number | null
}

export const liveKey = ['sessions', 'live'] as const
export const oneKey = (key: string) => ['sessions', 'one', canonical(key)] as const
export const saidKey = (key: string) => ['sessions', 'said', canonical(key)] as const

/** What the stream told of the sessions: a row, or the key of one that is gone. */
export type Told = { row: Session } | { gone: string }

/**
 * What was heard within the last minute. A list that was asked for before and
 * comes after would undo it; so whoever reads one applies what came since.
 */
export class Lately<T> {
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

export const told = new Lately<Told>()
export const heard = new Lately<{ key: string; message: Message }>()

/** The rows after one thing that was told. A row that is older than ours changes nothing. */
export function applyTold(rows: Session[], what: Told): Session[] {
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
