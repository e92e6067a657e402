import type { Schemas } from '../api/client'
import { schedules as scheduleTexts } from '../texts/schedules'

export type Slot = Schemas['ScheduleSlot']

const words = scheduleTexts

/** Returns the latest slots that are due, earliest first. */
export const lastSlots = (slots: readonly Slot[], count: number, now: number): Slot[] =>
  slots.filter(s => Date.parse(s.due_at) <= now).slice(-count)

/** Returns the counts by state, worst first: "1 missed, 13 on time". */
export function slotWords(slots: readonly Pick<Slot, 'state'>[]): string {
  const order = ['missed', 'failed', 'late', 'skipped', 'unknown', 'running', 'pending', 'on_time'] as const
  return order
    .map(state => ({ state, n: slots.filter(s => s.state === state).length }))
    .filter(c => c.n > 0)
    .map(c => `${c.n} ${words.state[c.state]}`)
    .join(', ')
}
