import type { Schemas } from '../api/client'
import { isDay } from '../app/days'
import { day } from '../app/format'
import type { Person } from '../app/queries'
import { canonical } from '../sessions/liveSessions'
import { partsOf, type Session, standing } from '../sessions/session'
import { deedOf } from '../tasks/historyText'
import { texts } from '../texts'
import { now as nowWords } from '../texts/now'
import type { IconName } from '../ui/Icon'
import type { Tone } from '../ui/State'
import { sessionHref, standupHref } from '../ui/TextLink'
import { activityKinds } from './activityKinds'

const words = nowWords.timeline

export type Slot = Schemas['ScheduleSlot']

const hour = 3_600_000
/** How far the timeline extends before and after now, in ms. */
export const reach = 12 * hour
/** Returns the hour of a moment. The slots are refetched when it moves on by one hour. */
export const hourOf = (now: number): number => Math.floor(now / hour) * hour

/** A row of the timeline: who did what to what, and how it ended. */
export interface Row {
  id: string
  at: string
  icon: IconName
  tone: Tone
  /** The agent whose run it is. */
  agent: string | null
  who: string
  deed: string
  what: string
  after: string
  href: string
  /** The key of the session behind the row, which has a better name than its key. */
  session?: string
  /** The key of the task, to show its title. */
  task?: string
}

type Look = Pick<Row, 'icon' | 'tone'>
const succeeded: Look = { icon: 'check', tone: 'done' }
const failed: Look = { icon: 'error', tone: 'danger' }
const quiet = (icon: IconName): Look => ({ icon, tone: 'idle' })

/** How each state of a slot looks, and the words after its name. */
const slotLooks: Record<Slot['state'] | 'recovered', Look & { after: string }> = {
  pending: { ...quiet('schedules'), after: '' },
  running: { icon: 'pulse', tone: 'active', after: words.running },
  unknown: { ...quiet('off'), after: words.unknown },
  on_time: { ...succeeded, after: '' },
  late: { icon: 'clock', tone: 'attention', after: words.late },
  missed: { icon: 'blocked', tone: 'danger', after: words.missed },
  failed: { ...failed, after: words.failed },
  recovered: { ...succeeded, after: words.recovered },
  skipped: { ...quiet('sleep'), after: words.skipped },
}

/** Returns the session that a slot started, if the runtime still has it. */
const runOf = (slot: Slot, sessions: readonly Session[]): Session | undefined =>
  sessions.find(
    s =>
      partsOf(s.key).job === canonical(slot.job_id) &&
      Math.abs(Date.parse(s.started_at ?? '') - Date.parse(slot.started_at ?? '')) < 60_000,
  )

/** Returns whether the job of a failed or missed slot succeeded later. */
const isRecovered = (slot: Slot, slots: readonly Slot[], sessions: readonly Session[]): boolean =>
  slots.some(
    s => s.job_id === slot.job_id && s.due_at > slot.due_at && (s.state === 'on_time' || s.state === 'late'),
  ) ||
  sessions.some(
    s =>
      partsOf(s.key).job === canonical(slot.job_id) &&
      s.status === 'done' &&
      !s.active &&
      Date.parse(s.started_at ?? '') >= Date.parse(slot.due_at),
  )

function slotRow(slot: Slot, slots: readonly Slot[], sessions: readonly Session[]): Row {
  const bad = slot.state === 'missed' || slot.state === 'failed'
  const run = runOf(slot, sessions)
  return {
    ...slotLooks[bad && isRecovered(slot, slots, sessions) ? 'recovered' : slot.state],
    id: `${slot.job_id} ${slot.due_at}`,
    at: slot.started_at ?? slot.due_at,
    agent: slot.agent_id,
    who: '',
    deed: '',
    what: slot.name,
    href: run ? sessionHref(run.key) : `/schedules?job=${encodeURIComponent(slot.job_id)}`,
  }
}

/** Returns the row of a session whose run has ended, or null. Standups have rows of their own. */
function sessionRow(s: Session): Row | null {
  const at = s.updated_at ?? s.started_at
  if (s.active || at === null || /^agent:[^:]+:standup:/i.test(s.key)) return null
  const state = standing(s)
  const bad = state === 'failed' || state === 'timeout'
  return {
    ...(bad ? failed : state === 'killed' ? quiet('blocked') : succeeded),
    id: s.key,
    at,
    agent: s.agent_id || null,
    who: '',
    deed: '',
    what: s.label ?? s.key,
    after: state === 'rests' ? '' : (words.ended[state as keyof typeof words.ended] ?? ''),
    href: sessionHref(s.key),
    session: s.key,
  }
}

/** Returns the row of an event, or null if it has none. */
export function eventRow(e: Schemas['Event'], people: ReadonlyMap<string, Person>): Row | null {
  if (!activityKinds.includes(e.kind)) return null
  const { id, name } = e.subject
  const agent = people.get(e.actor.id)?.agent ?? null
  const row = { id: String(e.id), at: e.at, agent, who: e.actor.name, what: name || id, after: '' }
  if (e.kind.startsWith('standup.')) {
    const ok = e.kind === 'standup.completed'
    return {
      ...row,
      ...(ok ? { ...succeeded, after: words.completed } : { ...failed, after: words.failed }),
      what: row.what.replace(/\b\d{4}-\d\d-\d\d\b/, date => (isDay(date) ? day(`${date}T12:00:00`) : date)),
      who: '',
      deed: '',
      href: standupHref(id),
    }
  }
  const task = { task: row.what, href: `/tasks?task=${encodeURIComponent(row.what)}` }
  if (e.kind !== 'task.changed') return { ...row, ...task, ...quiet('tasks'), deed: deedOf(e) }
  const { changes } = e.data as { changes?: { status?: unknown } }
  const to = Array.isArray(changes?.status) ? String(changes.status[1]) : null
  if (to === null) return null
  const look = to === 'done' ? succeeded : quiet('right')
  return { ...row, ...task, ...look, deed: words.moved, after: words.to(texts.tasks.status[to as 'done'] ?? to) }
}

interface Known {
  slots: readonly Slot[]
  sessions: readonly Session[]
  events: readonly Schemas['Event'][]
  people: ReadonlyMap<string, Person>
}

/** Returns what comes next, soonest first, and what happened in the last hours, latest first. */
export function timeline({ slots, sessions, events, people }: Known, now: number): { next: Row[]; past: Row[] } {
  const ofSlots = new Set(slots.flatMap(s => runOf(s, sessions)?.key ?? []))
  const rows = [
    ...slots.map(s => slotRow(s, slots, sessions)),
    ...sessions.filter(s => !ofSlots.has(s.key)).flatMap(s => sessionRow(s) ?? []),
    ...events.flatMap(e => eventRow(e, people) ?? []),
  ]
    .filter(r => Math.abs(Date.parse(r.at) - now) < reach)
    .sort((a, b) => b.at.localeCompare(a.at))
  return {
    next: rows.filter(r => Date.parse(r.at) > now).reverse(),
    past: rows.filter(r => Date.parse(r.at) <= now),
  }
}
