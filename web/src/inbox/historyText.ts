import type { Schemas } from '../api/client'
import { localTimes } from '../app/localTimes'
import { clock } from '../app/time'
import { inbox as inboxWords } from '../texts/inbox'

const words = inboxWords

type Event = Pick<Schemas['Event'], 'kind' | 'data' | 'at'>
type Changes = Record<string, unknown>

/** Returns the new value of a changed field. */
function after(changes: Changes, field: string): unknown {
  const pair = changes[field]
  return Array.isArray(pair) ? pair[1] : undefined
}

/** Returns in words what happened to an item. The state follows from the kind of event. */
export function deedOf({ kind, data }: Event): string {
  const changes = (data as { changes?: Changes } | null)?.changes ?? {}
  const until = after(changes, 'snoozed_until')
  const assignee = after(changes, 'assignee') as { name?: unknown } | null | undefined
  const severity = after(changes, 'severity')
  const said =
    kind === 'inbox.snoozed' && typeof until === 'string'
      ? words.snoozedUntil(clock(until, undefined, 'date'))
      : kind === 'inbox.assigned' && assignee !== undefined
        ? assignee === null
          ? words.unassigned
          : words.assignedTo(String(assignee.name ?? ''))
        : (words.historyKind[kind] ?? kind)
  const level = words.severity[severity as keyof typeof words.severity]
  return level ? `${said}, ${words.nowSeverity(level)}` : said
}

/** Returns the note of a resolution, which the changes don't include. */
export function noteOf({ kind, data, at }: Event): string {
  const item = (data as { item?: { resolution?: { note?: unknown } | null } } | null)?.item
  const note = kind === 'inbox.resolved' ? item?.resolution?.note : ''
  return typeof note === 'string' ? localTimes(note, at) : ''
}
