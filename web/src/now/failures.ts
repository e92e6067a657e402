import type { Schemas } from '../api/client'
import { type Item, kinds } from '../inbox/item'
import { kindTable } from '../inbox/kinds'

const day = 86_400_000

/** The events that raise an item again. */
const raising = ['inbox.raised', 'inbox.repeated', 'inbox.reopened']

/** The events that show whether an item stands. */
export const turning = [...raising, 'inbox.resolved']

export interface Failure {
  kind: Item['kind']
  /** The title of the item. */
  title: string
  count: number
  /** When it failed last. */
  last: string
  /** The ID of the item. */
  item: string
  /** Whether the item is resolved. */
  resolved: boolean
}

/** Failed runs without an inbox item, because no job, task, or standup started them. */
export interface FailedRuns {
  status: 'failed' | 'timeout'
  agent: string
  count: number
  last: string
  /** The archive ID of the latest session. */
  session: string
}

/** Returns the failure in an event, or null. Reopening by a person is not a failure. */
function failed(event: Schemas['Event']): { id: string; kind: Failure['kind']; title: string } | null {
  const data = event.data as { item?: { id?: unknown; kind?: unknown; title?: unknown } } | null
  const kind = kinds.find(k => k === data?.item?.kind)
  if (!kind || !kindTable[kind].failure || event.actor.id !== 'system' || !raising.includes(event.kind)) return null
  const title = data?.item?.title
  return { id: event.subject.id, kind, title: typeof title === 'string' ? title : '' }
}

/** Returns when the failure happened. The item has the exact time; the event may have been recorded later. */
function failedAt(event: Schemas['Event']): string {
  const last = (event.data as { item?: { last_at?: unknown } } | null)?.item?.last_at
  return typeof last === 'string' && last < event.at ? last : event.at
}

/** Returns the failures of the last 24 hours by inbox item: unresolved ones first, then the most frequent. */
export function failuresOf(events: readonly Schemas['Event'][], now: number): Failure[] {
  const found = new Map<string, Failure>()
  const newest = new Map<string, Schemas['Event']>()
  for (const e of events) {
    const known = newest.get(e.subject.id)
    if (!known || e.id > known.id) newest.set(e.subject.id, e)
    const item = failed(e)
    const at = failedAt(e)
    if (!item || now - Date.parse(at) > day) continue
    const f = found.get(item.id)
    if (!f)
      found.set(item.id, { kind: item.kind, title: item.title, count: 1, last: at, item: item.id, resolved: false })
    else {
      f.count++
      if (at > f.last) Object.assign(f, { last: at, title: item.title })
    }
  }
  return [...found.values()]
    .map(f => ({ ...f, resolved: newest.get(f.item)?.kind === 'inbox.resolved' }))
    .sort((a, b) => Number(a.resolved) - Number(b.resolved) || b.count - a.count || b.last.localeCompare(a.last))
}

type Ended = Pick<Schemas['ArchiveD'], 'id' | 'key' | 'agent_id' | 'status' | 'active' | 'last_at' | 'ended_at'>

/** Matches the keys of task, standup, and job sessions, whose failed runs raise inbox items of their own. */
const told = /^agent:[^:]+:(task|standup|cron):/i

/** Returns the sessions whose last run failed in the last 24 hours, by agent and outcome. */
export function failedRuns(sessions: readonly Ended[], now: number): FailedRuns[] {
  const found = new Map<string, FailedRuns>()
  for (const s of sessions) {
    const { status } = s
    const at = s.ended_at ?? s.last_at
    if (s.active || (status !== 'failed' && status !== 'timeout')) continue
    if (told.test(s.key) || now - Date.parse(at) > day) continue
    const id = `${status} ${s.agent_id}`
    const f = found.get(id)
    if (!f) found.set(id, { status, agent: s.agent_id, count: 1, last: at, session: s.id })
    else {
      f.count++
      if (at > f.last) Object.assign(f, { last: at, session: s.id })
    }
  }
  return [...found.values()].sort((a, b) => b.count - a.count || b.last.localeCompare(a.last))
}
