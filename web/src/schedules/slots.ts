import type { Schemas } from '../api/client'
import { texts } from '../texts'

export type Slot = Schemas['ScheduleSlot']

const words = texts.schedules

const day = 86_400_000

/** What the ledger answers at once, in ms. */
export const longestSpan = 31 * day

/**
 * How far back the last `count` slots of a job reach, in ms, guessed from the
 * widest gap between the runs to come.
 */
export function spanOf(next: readonly { at: string }[], count: number): number {
  const times = next.map(n => Date.parse(n.at))
  const gaps = times.slice(1).map((t, i) => t - (times[i] ?? t))
  const widest = gaps.length > 0 ? Math.max(...gaps) : day
  return Math.min(longestSpan, Math.max(3_600_000, widest * (count + 1)))
}

/** The last slots whose time has come, the earliest first. */
export const lastSlots = (slots: readonly Slot[], count: number, now: number): Slot[] =>
  slots.filter(s => Date.parse(s.due_at) <= now).slice(-count)

/** How many of each state, the worst first, as people read it: "1 missed, 13 on time". */
export function slotWords(slots: readonly Pick<Slot, 'state'>[]): string {
  const order = ['missed', 'failed', 'late', 'skipped', 'unknown', 'running', 'pending', 'on_time'] as const
  return order
    .map(state => ({ state, n: slots.filter(s => s.state === state).length }))
    .filter(c => c.n > 0)
    .map(c => `${c.n} ${words.state[c.state]}`)
    .join(', ')
}
