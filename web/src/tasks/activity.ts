import type { Schemas } from '../api/client'
import { headline } from '../app/headline'
import type { Archived, Session } from '../sessions/session'
import { commentOf, reportOf, type Said } from './report'

type Event = Schemas['Event']

/** An entry of a task's activity: words, an agent's session, or changes in a row, newest first. */
export type Entry = { at: string; id: string } & (
  | { said: Said }
  | { session: Session | Archived; last: string | null }
  | { changes: readonly Event[] }
)

interface Sources {
  comments: readonly Schemas['TaskComment'][]
  /** The events loaded so far, newest first, and whether there are older ones. */
  events: readonly Event[]
  more: boolean
  sessions: readonly (Session | Archived)[]
  /** The words that the panel shows above the activity. */
  latest: Said | null
}

const ofSaid = (said: Said): Entry => ({ at: said.at, id: said.id, said })

/** Returns the activity of a task, newest first. What is older than the loaded events waits for them. */
export function activityOf({ comments, events, more, sessions, latest }: Sources): Entry[] {
  const known = new Set(comments.map(c => c.id))
  const entries: Entry[] = comments.filter(c => c.id !== latest?.id).map(c => ofSaid(commentOf(c)))
  for (const e of events) {
    const comment = (e.data as { comment_id?: string } | null)?.comment_id ?? ''
    // The cost is among the task's fields, and a comment has its own entry.
    if (e.kind === 'task.spent' || (e.kind === 'task.commented' && known.has(comment))) continue
    const said = reportOf(e)
    entries.push(
      said?.text.trim() && !latest?.text.includes(said.text)
        ? ofSaid(said)
        : { at: e.at, id: `e${e.id}`, changes: [e] },
    )
  }
  for (const s of sessions) {
    const at = 'archived_at' in s ? s.last_at : s.updated_at
    const last = headline(s.last_message)
    const isTold = [latest, ...entries.map(e => ('said' in e ? e.said : null))].some(
      w => w && headline(w.text) === last,
    )
    if (at) entries.push({ at, id: 'id' in s ? s.id : s.key, session: s, last: isTold ? null : last })
  }
  const from = more ? (events.at(-1)?.at ?? '') : ''
  const rows: Entry[] = []
  for (const entry of entries.filter(e => e.at >= from).sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))) {
    const last = rows.at(-1)
    if (last && 'changes' in last && 'changes' in entry)
      // The oldest change names the row, so that it stays open when a new change joins it.
      rows[rows.length - 1] = { ...entry, at: last.at, changes: [...last.changes, ...entry.changes] }
    else rows.push(entry)
  }
  return rows
}
