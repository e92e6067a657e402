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
] as const satisfies readonly Item['kind'][]

/** The events by which such an item is raised once more. */
export const raising = ['inbox.raised', 'inbox.repeated', 'inbox.reopened']

export interface Failure {
  kind: (typeof failureKinds)[number]
  count: number
  /** When it last failed so. */
  last: string
  /** The item to look at. */
  item: string
}

/** The item that an event says was raised because something failed, or null. A person may open one again: that is no failure. */
export function failed(event: Schemas['Event']): { id: string; kind: Failure['kind'] } | null {
  const data = event.data as { item?: { id?: unknown; kind?: unknown } } | null
  const kind = failureKinds.find(k => k === data?.item?.kind)
  if (!kind || event.actor.id !== 'system' || !raising.includes(event.kind)) return null
  return { id: event.subject.id, kind }
}

/** When it failed: what was found late is told of late, and its item knows better. */
function failedAt(event: Schemas['Event']): string {
  const last = (event.data as { item?: { last_at?: unknown } } | null)?.item?.last_at
  return typeof last === 'string' && last < event.at ? last : event.at
}

/** What failed in the day before now, by cause, what failed most first. */
export function failuresOf(events: readonly Schemas['Event'][], now: number): Failure[] {
  const found = new Map<string, Failure>()
  for (const e of events) {
    const item = failed(e)
    const at = failedAt(e)
    if (!item || now - Date.parse(at) > day) continue
    const f = found.get(item.kind)
    if (!f) found.set(item.kind, { kind: item.kind, count: 1, last: at, item: item.id })
    else {
      f.count++
      if (at > f.last) Object.assign(f, { last: at, item: item.id })
    }
  }
  return [...found.values()].sort((a, b) => b.count - a.count || b.last.localeCompare(a.last))
}
