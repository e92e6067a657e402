import type { Schemas } from '../api/client'
import type { Person } from '../app/queries'
import { agentName } from '../tasks/dispatch'
import { deedOf } from '../tasks/historyText'
import { texts } from '../texts'
import { now as nowWords } from '../texts/now'
import { standupHref } from '../ui/TextLink'
import { activityKinds } from './activityKinds'

const words = nowWords.activity

/** A line of the activity card: who did what to what, and what follows, such as "to Review". */
export interface Deed {
  id: number
  at: string
  who: string
  deed: string
  what: string
  after: string
  href: string
}

interface Data {
  report?: unknown
  dispatch?: { agent_id?: unknown; state?: unknown }
  changes?: { status?: unknown }
}

/** Returns the line about an event, or null if it has none. */
export function activityOf(e: Schemas['Event'], people: ReadonlyMap<string, Person>): Deed | null {
  if (!activityKinds.includes(e.kind)) return null
  const data: Data = typeof e.data === 'object' && e.data !== null ? e.data : {}
  const { id, name } = e.subject
  const line = { id: e.id, at: e.at, who: e.actor.name, what: name || id, after: '' }
  if (e.kind.startsWith('standup.')) {
    const deed = e.kind === 'standup.completed' ? words.completed : words.failed
    return { ...line, who: '', deed: '', after: deed, href: standupHref(id) }
  }
  if (e.kind.startsWith('slot.')) {
    const deed = e.kind === 'slot.missed' ? words.missed : words.failed
    return { ...line, who: '', deed: '', after: deed, href: `/schedules?job=${encodeURIComponent(id)}` }
  }
  const href = `/tasks?task=${encodeURIComponent(name || id)}`
  if (e.kind === 'task.dispatch_ended') {
    const agent = agentName(String(data.dispatch?.agent_id ?? ''), people)
    return { ...line, who: agent, deed: `${data.dispatch?.state === 'failed' ? words.notDone : words.ran}:`, href }
  }
  if (e.kind !== 'task.changed') return { ...line, deed: `${deedOf(e)}:`, href }
  const to = Array.isArray(data.changes?.status) ? String(data.changes.status[1]) : null
  if (to === null) return null
  return { ...line, deed: words.moved, after: words.to(texts.tasks.status[to as 'done'] ?? to), href }
}
