import type { Schemas } from '../api/client'
import type { Limit } from '../spend/limitQueries'
import { sessionHref, standupHref } from '../ui/TextLink'
import { type ActName, kindTable } from './kinds'

export type Item = Schemas['InboxItem']
/** An item as in lists and events. Events omit its details. */
export type Told = Omit<Item, 'detail'> & { detail?: string }
export type State = Item['state']

export const states = ['open', 'acked', 'snoozed', 'resolved'] as const satisfies readonly State[]
/** The states that the list shows by default. */
export const waiting = ['open', 'acked'] as const satisfies readonly State[]
export const severities = ['urgent', 'high', 'medium', 'low'] as const satisfies readonly Item['severity'][]
export const kinds = Object.keys(kindTable) as Item['kind'][]
export const orders = ['rank', '-last', 'last'] as const

const text = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
// A run that repeats itself costs money until someone stops it.
const rank = (i: Told) => (i.kind === 'loop' ? -1 : severities.indexOf(i.severity))

const compare: Record<(typeof orders)[number], (a: Told, b: Told) => number> = {
  rank: (a, b) => rank(a) - rank(b) || text(a.first_at, b.first_at) || text(a.id, b.id),
  last: (a, b) => text(a.last_at, b.last_at) || text(a.id, b.id),
  '-last': (a, b) => text(b.last_at, a.last_at) || text(b.id, a.id),
}

/** Sorts like the server: repeating runs first, then the most severe, then the oldest. */
export const sorted = (items: readonly Told[], by?: (typeof orders)[number]): Told[] =>
  [...items].sort(compare[by ?? 'rank'])

/** Returns whether the item needs this user: it is unassigned and open, or assigned to the user and unresolved. */
export const needs = (item: Told, me: string | undefined): boolean =>
  item.assignee !== null
    ? item.assignee.id === me && (item.state === 'open' || item.state === 'acked')
    : item.state === 'open'

/** An action on an item. */
export type Action =
  | { do: 'ack' | 'reopen' }
  | { do: 'snooze'; until: string }
  | { do: 'assign'; to: Schemas['InboxAssignee'] | null }
  | { do: 'resolve'; note: string }

/** Returns the item as it will be after an action, to show until the server answers. */
export function looks(item: Told, action: Action, by: { id: string; name: string }, now: Date): Told {
  const to = (state: State): Told => ({ ...item, state, snoozed_until: null, resolution: null })
  switch (action.do) {
    case 'ack':
      return to('acked')
    case 'reopen':
      return to('open')
    case 'snooze':
      return { ...to('snoozed'), snoozed_until: action.until }
    case 'assign':
      return { ...item, assignee: action.to }
    case 'resolve':
      return {
        ...to('resolved'),
        resolution: { at: now.toISOString(), by: { id: by.id, name: by.name }, note: action.note },
      }
  }
}

/**
 * Returns the actions that undo an action. A resolved item is reopened first, and an item whose snooze has ended stays
 * open.
 */
export function wayBack(was: Told, action: Action, now: Date): Action[] {
  if (action.do === 'assign') return [{ do: 'assign', to: was.assignee }]
  const first: Action[] = action.do === 'resolve' ? [{ do: 'reopen' }] : []
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

/** Returns the snooze options: some hours, or 8:00 on a coming day. */
export function snoozes(now: Date): { id: Snooze; until: Date }[] {
  const hours = (n: number) => new Date(now.getTime() + n * 3_600_000)
  const morning = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, 8)
  const monday = (8 - now.getDay()) % 7 || 7
  return [
    { id: 'hour', until: hours(1) },
    { id: 'three', until: hours(3) },
    { id: 'tomorrow', until: morning(1) },
    // On a Sunday this equals tomorrow.
    ...(monday > 1 ? [{ id: 'monday' as const, until: morning(monday) }] : []),
    { id: 'week', until: hours(7 * 24) },
  ]
}

const longest = 90 * 24 * 3_600_000

/** Returns whether the server accepts this snooze time. */
export const maySnooze = (until: Date, now: Date): boolean =>
  until.getTime() > now.getTime() && until.getTime() <= now.getTime() + longest

/** Returns the address of the page about the item's subject, or null. */
export function subjectHref(of: Pick<Told, 'kind' | 'subject'>): string | null {
  const { kind, id, name } = of.subject
  // The subject is a job, identified by the team's key. Link to the standups instead.
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
    case 'limit':
      return '/spend?part=limits'
    case 'spend':
      return '/spend?period=today'
    case 'device':
    case 'gateway':
      return '/settings/gateway'
    default:
      return null
  }
}

/** The actions that only the owner and admins may take. */
const forLeads: readonly ActName[] = [
  'runJob',
  'dispatch',
  'retryStandup',
  'runStandup',
  'stopSession',
  'testConnection',
  'allowMore',
  'raiseLimit',
  'answer',
  'review',
  'message',
]

type Acted = Pick<Told, 'kind' | 'state' | 'subject' | 'run' | 'effect'>

/**
 * Returns the actions on an item that the user may take, the primary one first. The limit is the one that the item is
 * about; there is none if it has been deleted.
 */
export function actsOf(
  { kind, state, subject, run, effect }: Acted,
  may: { lead: boolean; limit?: Pick<Limit, 'measure'> | undefined },
): readonly ActName[] {
  if (state === 'resolved') return []
  const has = (act: ActName) => {
    switch (act) {
      case 'openRun':
        return Boolean(run?.session_key)
      case 'allowMore':
        return may.limit?.measure === 'usd'
      case 'raiseLimit':
        return may.limit !== undefined
      case 'keepStopped':
        return effect !== null
      default:
        return subject.id !== '' || !needsSubject.includes(act)
    }
  }
  return kindTable[kind].acts.filter(act => (may.lead || !forLeads.includes(act)) && has(act))
}

/** The actions on what the item is about. */
const needsSubject: readonly ActName[] = [
  'approve',
  'sendBack',
  'runJob',
  'dispatch',
  'retryStandup',
  'runStandup',
  'openSession',
  'stopSession',
  'message',
]

/** Returns the key of the task that the item is about, or null. */
export const taskOf = ({ subject }: Pick<Told, 'subject'>): string | null =>
  subject.kind === 'task' ? subject.name || subject.id || null : null

/** Returns the task in Review that a review item is about. The item's time is that of the move to Review. */
export const reviewOf = ({ subject, last_at }: Pick<Told, 'subject' | 'last_at'>) => ({
  id: subject.id,
  key: subject.name || subject.id,
  moved_at: last_at,
})

/** Items of one urgency, in their order. */
export interface Group {
  severity: Item['severity']
  items: Told[]
}

/** Groups items by urgency, the most urgent first. */
export const grouped = (items: readonly Told[]): Group[] =>
  severities.flatMap(severity => {
    const those = items.filter(i => i.severity === severity)
    return those.length > 0 ? [{ severity, items: those }] : []
  })

/** Returns the agent in a session key. */
export const agentOf = (key: string): string => /^agent:([^:]+):/i.exec(key)?.[1] ?? ''
