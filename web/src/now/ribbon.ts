import type { Schemas } from '../api/client'

export type Slot = Schemas['ScheduleSlot']
export type SlotState = Slot['state']

const hour = 3_600_000
/** How much the ribbon shows before now and after, in ms. */
export const reach = 12 * hour
/** How many marks fit beside each other. */
export const marks = 96

/** What a mark says that stands for several runs: the worst of them. */
export const worstFirst = [
  'missed',
  'failed',
  'late',
  'unknown',
  'running',
  'skipped',
  'on_time',
  'pending',
] as const satisfies readonly SlotState[]

export interface Mark {
  /** Which of the marks it is, 0 at the left end. */
  at: number
  worst: SlotState
  slots: Slot[]
}

const worse = (a: SlotState, b: SlotState): SlotState => (worstFirst.indexOf(a) <= worstFirst.indexOf(b) ? a : b)

/** Those that are due within reach of now, the earliest first. */
export const within = (slots: readonly Slot[], now: number): Slot[] =>
  slots
    .filter(s => Math.abs(Date.parse(s.due_at) - now) < reach)
    .sort((a, b) => a.due_at.localeCompare(b.due_at) || a.name.localeCompare(b.name))

/** Runs as marks on a ribbon whose middle is now; where nothing is due there is none. */
export function marksOf(slots: readonly Slot[], now: number): Mark[] {
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

/** How many are in each state, the worst first; states without any are left out. */
export function counts(slots: readonly Slot[]): { state: SlotState; n: number }[] {
  return worstFirst.map(state => ({ state, n: slots.filter(s => s.state === state).length })).filter(({ n }) => n > 0)
}

/** The hour in which a moment lies; the window is asked for anew when it has moved on by one. */
export const hourOf = (now: number): number => Math.floor(now / hour) * hour
