import type { Schemas } from '../api/client'

export type Slot = Schemas['ScheduleSlot']
type SlotState = Slot['state']
/** The state of a slot; `made_up` for a failed one that recovered. */
export type Shown = SlotState | 'made_up'
/** A slot with the state that is shown for it. */
export type Seen = Omit<Slot, 'state'> & { state: Shown; made_up_at?: string }

const hour = 3_600_000
/** How far the timeline extends before and after now, in ms. */
export const reach = 12 * hour
/** Number of marks on the timeline. */
export const marks = 96

/** The order in which a mark picks its state if it stands for several runs. */
const worstFirst = [
  'missed',
  'failed',
  'late',
  'unknown',
  'running',
  'made_up',
  'skipped',
  'on_time',
  'pending',
] as const satisfies readonly Shown[]

export interface Mark {
  /** The position of the mark, 0 at the left. */
  at: number
  worst: Shown
  slots: Seen[]
}

const worse = (a: Shown, b: Shown): Shown => (worstFirst.indexOf(a) <= worstFirst.indexOf(b) ? a : b)

/** Returns the slots within reach of now, earliest first. */
export const within = <S extends Seen>(slots: readonly S[], now: number): S[] =>
  slots
    .filter(s => Math.abs(Date.parse(s.due_at) - now) < reach)
    .sort((a, b) => a.due_at.localeCompare(b.due_at) || a.name.localeCompare(b.name))

/** Groups slots into marks on a timeline centered on now. */
export function marksOf(slots: readonly Seen[], now: number): Mark[] {
  const found = new Map<number, Mark>()
  for (const slot of within(slots, now)) {
    const at = Math.min(marks - 1, Math.floor(((Date.parse(slot.due_at) - now + reach) / (2 * reach)) * marks))
    const mark = found.get(at)
    if (mark) {
      mark.slots.push(slot)
      mark.worst = worse(mark.worst, slot.state)
    } else found.set(at, { at, worst: slot.state, slots: [slot] })
  }
  return [...found.values()].sort((a, b) => a.at - b.at)
}

/** Returns the number of slots per state, worst first, without zeros. */
export function counts(slots: readonly Seen[]): { state: Shown; n: number }[] {
  return worstFirst.map(state => ({ state, n: slots.filter(s => s.state === state).length })).filter(({ n }) => n > 0)
}

export const isTrouble = (s: Seen): boolean => s.state === 'missed' || s.state === 'failed'

/** The finished runs of a job. */
export type Runs = readonly Pick<Schemas['ScheduleRun'], 'status' | 'started_at' | 'ended_at'>[]

/** Marks failed slots as recovered, with the time, if their job succeeded later. */
export function madeUp(slots: readonly Slot[], runs: ReadonlyMap<string, Runs>): Seen[] {
  return slots.map(s => {
    if (!isTrouble(s)) return s
    const good = (runs.get(s.job_id) ?? []).filter(
      r => r.status === 'ok' && Date.parse(r.started_at) >= Date.parse(s.due_at),
    )
    const [first] = good.map(r => r.ended_at).sort()
    return first ? { ...s, state: 'made_up' as const, made_up_at: first } : s
  })
}

/** Returns the latest failed slot of each job, newest first, unless a later one succeeded. */
export function troublesOf(slots: readonly Seen[]): Seen[] {
  const last = new Map<string, Seen>()
  for (const s of [...slots].sort((a, b) => a.due_at.localeCompare(b.due_at))) {
    if (isTrouble(s) || s.state === 'made_up') last.set(s.job_id, s)
    else if (s.state === 'on_time' || s.state === 'late') last.delete(s.job_id)
  }
  return [...last.values()].sort((a, b) => b.due_at.localeCompare(a.due_at))
}

/** Returns the hour of a moment. The window is refetched when it moves on by one hour. */
export const hourOf = (now: number): number => Math.floor(now / hour) * hour
