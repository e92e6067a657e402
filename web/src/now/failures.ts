import type { Schemas } from '../api/client'
import type { Item } from '../inbox/item'

const day = 86_400_000

/** The kinds of items that say that something failed; the others are what agents could not settle. */
export const failureKinds = [
  'standup_failed',
  'standup_missed',
  'job_failed',
  'job_missed',
  'dispatch_failed',
  'run_stalled',
  'gateway_trouble',
] as const satisfies readonly Item['kind'][]

/** The events by which such an item is raised once more. */
export const raising = ['inbox.raised', 'inbox.repeated', 'inbox.reopened']

export interface Failure {
  kind: (typeof failureKinds)[number]
  /** What failed, as its item has it. */
  title: string
  count: number
  /** When it last failed so. */
  last: string
  /** The item to look at. */
  item: string
}

/** Runs that failed of themselves: no job, task or standup has raised an item for them. */
export interface FailedRuns {
  status: 'failed' | 'timeout'
  agent: string
  count: number
  last: string
  /** The session of the last one, by its id in the archive. */
  session: string
}

/** The item that an event says was raised because something failed, or null. A person may open one again: that is no failure. */
export function failed(event: Schemas['Event']): { id: string; kind: Failure['kind']; title: string } | null {
  const data = event.data as { item?: { id?: unknown; kind?: unknown; title?: unknown } } | null
  const kind = failureKinds.find(k => k === data?.item?.kind)
  if (!kind || event.actor.id !== 'system' || !raising.includes(event.kind)) return null
  const title = data?.item?.title
  return { id: event.subject.id, kind, title: typeof title === 'string' ? title : '' }
}

/** When it failed: what was found late is told of late, and its item knows better. */
function failedAt(event: Schemas['Event']): string {
  const last = (event.data as { item?: { last_at?: unknown } } | null)?.item?.last_at
  return typeof last === 'string' && last < event.at ? last : event.at
}

/** What failed in the day before now, by cause, what failed most first. One cause is one item. */
export function failuresOf(events: readonly Schemas['Event'][], now: number): Failure[] {
  const found = new Map<string, Failure>()
  for (const e of events) {
    const item = failed(e)
    const at = failedAt(e)
    if (!item || now - Date.parse(at) > day) continue
    const f = found.get(item.id)
    if (!f) found.set(item.id, { kind: item.kind, title: item.title, count: 1, last: at, item: item.id })
    else {
      f.count++
      if (at > f.last) Object.assign(f, { last: at, title: item.title })
    }
  }
  return [...found.values()].sort((a, b) => b.count - a.count || b.last.localeCompare(a.last))
}

type Ended = Pick<Schemas['ArchiveD'], 'id' | 'key' | 'agent_id' | 'status' | 'active' | 'last_at' | 'ended_at'>

/** Who asked for such a run tells of its end. */
const told = /^agent:[^:]+:(task|standup|cron):/i

/** The sessions whose last run failed in the day before now, by agent and by how it ended. */
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
