import type { Schemas } from '../api/client'
import type { Person } from '../app/queries'
import { sessionHref, standupHref } from '../ui/TextLink'
import type { InboxSearch } from './route'

export type Item = Schemas['InboxItem']
/** An item as a list knows it: the stream tells all of it but its detail. */
export type Told = Omit<Item, 'detail'>
export type State = Item['state']

export const states = ['open', 'acked', 'snoozed', 'resolved'] as const satisfies readonly State[]
/** What waits for somebody: what is listed when nobody asks for other states. */
export const waiting = ['open', 'acked'] as const satisfies readonly State[]
export const severities = ['urgent', 'high', 'medium', 'low'] as const satisfies readonly Item['severity'][]
export const kinds = [
  'escalation',
  'standup_failed',
  'standup_missed',
  'old_blocker',
  'job_missed',
  'job_failed',
  'dispatch_failed',
  'run_stalled',
  'task_blocked',
  'gateway_trouble',
  'pairing_pending',
] as const satisfies readonly Item['kind'][]
export const orders = ['rank', '-last', 'last'] as const

/** The part of the address that says which items, and in which order. */
export type Filters = Pick<InboxSearch, 'state' | 'kind' | 'severity' | 'assignee' | 'order'>

export function filtersOf({ state, kind, severity, assignee, order }: InboxSearch): Filters {
  return Object.fromEntries(
    Object.entries({ state, kind, severity, assignee, order }).filter(([, v]) => v !== undefined),
  ) as Filters
}

/** Whether it lists less than what waits for somebody; an order takes nothing away. */
export const isFiltered = ({ order: _, ...rest }: Filters): boolean => Object.values(rest).some(Boolean)

/** Whether an item belongs to what was asked for, by the rules of the service: so one that changes goes or comes at once. */
export function fits(item: Told, f: Filters, me: string | undefined, people: ReadonlyMap<string, Person>): boolean {
  const among = (list: string | undefined, v: string) => !list || list.split(',').includes(v)
  if (!among(f.state ?? waiting.join(), item.state)) return false
  if (!among(f.kind, item.kind) || !among(f.severity, item.severity)) return false
  if (!f.assignee) return true
  if (f.assignee === 'none') return item.assignee === null
  if (item.assignee === null) return false
  const id = f.assignee === 'me' ? me : f.assignee
  // An email is not in the item: the service has looked at that.
  return item.assignee.id === id || (f.assignee !== 'me' && !people.has(f.assignee))
}

const text = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
const urgency = (i: Told) => severities.indexOf(i.severity)

const compare: Record<(typeof orders)[number], (a: Told, b: Told) => number> = {
  rank: (a, b) => urgency(a) - urgency(b) || text(a.first_at, b.first_at) || text(a.id, b.id),
  last: (a, b) => text(a.last_at, b.last_at) || text(a.id, b.id),
  '-last': (a, b) => text(b.last_at, a.last_at) || text(b.id, a.id),
}

/** In the order of the service: the most severe first, and of those the one that has waited longest. */
export const sorted = (items: readonly Told[], by: Filters['order']): Told[] => [...items].sort(compare[by ?? 'rank'])

/** What needs this person: what nobody has said anything about, and what they took on and have not resolved. */
export const needs = (item: Told, me: string | undefined): boolean =>
  item.assignee !== null
    ? item.assignee.id === me && (item.state === 'open' || item.state === 'acked')
    : item.state === 'open'

/** Something that somebody does to an item. */
export type Deed =
  | { do: 'ack' | 'reopen' }
  | { do: 'snooze'; until: string }
  | { do: 'assign'; to: Schemas['InboxAssignee'] | null }
  | { do: 'resolve'; note: string }

/** What the item looks like until the service has answered. */
export function looks(item: Told, deed: Deed, by: { id: string; name: string }, now: Date): Told {
  const to = (state: State): Told => ({ ...item, state, snoozed_until: null, resolution: null })
  switch (deed.do) {
    case 'ack':
      return to('acked')
    case 'reopen':
      return to('open')
    case 'snooze':
      return { ...to('snoozed'), snoozed_until: deed.until }
    case 'assign':
      return { ...item, assignee: deed.to }
    case 'resolve':
      return {
        ...to('resolved'),
        resolution: { at: now.toISOString(), by: { id: by.id, name: by.name }, note: deed.note },
      }
  }
}

/**
 * What brings an item back to where it was before a deed. What was resolved is
 * opened by reopening alone, and a snooze that would be over by now stays open.
 */
export function wayBack(was: Told, deed: Deed, now: Date): Deed[] {
  if (deed.do === 'assign') return [{ do: 'assign', to: was.assignee }]
  const first: Deed[] = deed.do === 'resolve' ? [{ do: 'reopen' }] : []
  switch (was.state) {
    case 'open':
      return [{ do: 'reopen' }]
    case 'acked':
      return [...first, { do: 'ack' }]
    case 'snoozed':
      return was.snoozed_until !== null && Date.parse(was.snoozed_until) > now.getTime()
        ? [...first, { do: 'snooze', until: was.snoozed_until }]
        : [{ do: 'reopen' }]
    case 'resolved':
      return [{ do: 'resolve', note: was.resolution?.note ?? '' }]
  }
}

export type Snooze = 'hour' | 'three' | 'tomorrow' | 'monday' | 'week'

/** Until when one may put something off with one choice: hours from now, or the morning of a day where one is. */
export function snoozes(now: Date): { id: Snooze; until: Date }[] {
  const hours = (n: number) => new Date(now.getTime() + n * 3_600_000)
  const morning = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, 8)
  const monday = (8 - now.getDay()) % 7 || 7
  return [
    { id: 'hour', until: hours(1) },
    { id: 'three', until: hours(3) },
    { id: 'tomorrow', until: morning(1) },
    // On a Sunday it is the same as tomorrow.
    ...(monday > 1 ? [{ id: 'monday' as const, until: morning(monday) }] : []),
    { id: 'week', until: hours(7 * 24) },
  ]
}

const longest = 90 * 24 * 3_600_000

/** Whether the service takes such a time to put something off until. */
export const maySnooze = (until: Date, now: Date): boolean =>
  until.getTime() > now.getTime() && until.getTime() <= now.getTime() + longest

/** Where one reads what an item is about; null when that is nowhere. */
export function subjectHref(of: Pick<Told, 'kind' | 'subject'>): string | null {
  const { kind, id, name } = of.subject
  // Its subject is a job by the key of a team: the standups are where one looks.
  if (of.kind === 'standup_missed') return '/standups'
  if (id === '') return null
  switch (kind) {
    case 'task':
      return `/tasks?task=${encodeURIComponent(name || id)}`
    case 'standup':
      return standupHref(id)
    case 'schedule':
      return `/schedules?job=${encodeURIComponent(id)}`
    case 'session':
      return sessionHref(id)
    case 'device':
    case 'gateway':
      return '/settings/gateway'
    default:
      return null
  }
}

/** What a person can do about the cause of an item, and to what. */
export type RemedyOf =
  | { do: 'run' | 'dispatch' | 'retry'; id: string }
  /** Today's standup of a team: the day that was missed is over, or is today. */
  | { do: 'hold'; team: string }

/** What ends the cause of an item; null where only a person can judge, or nothing is wrong any more. */
export function remedyOf({ kind, state, subject }: Pick<Told, 'kind' | 'state' | 'subject'>): RemedyOf | null {
  if (state === 'resolved' || subject.id === '') return null
  switch (kind) {
    case 'job_missed':
    case 'job_failed':
      return { do: 'run', id: subject.id }
    case 'dispatch_failed':
      return { do: 'dispatch', id: subject.id }
    case 'standup_failed':
      return { do: 'retry', id: subject.id }
    case 'standup_missed':
      return { do: 'hold', team: subject.id }
    default:
      return null
  }
}
