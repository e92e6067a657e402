import type { Schemas } from '../api/client'

export type Slot = Schemas['ScheduleSlot']
export type SlotState = Slot['state']
/** What became of a slot; one that went wrong may have been made up for since. */
export type Shown = SlotState | 'made_up'
/** A slot as it is shown. */
export type Seen = Omit<Slot, 'state'> & { state: Shown; made_up_at?: string }

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
  'made_up',
  'skipped',
  'on_time',
  'pending',
] as const satisfies readonly Shown[]

export interface Mark {
  /** Which of the marks it is, 0 at the left end. */
  at: number
  worst: Shown
  slots: Seen[]
}

const worse = (a: Shown, b: Shown): Shown => (worstFirst.indexOf(a) <= worstFirst.indexOf(b) ? a : b)

/** Those that are due within reach of now, the earliest first. */
export const within = <S extends Seen>(slots: readonly S[], now: number): S[] =>
  slots
    .filter(s => Math.abs(Date.parse(s.due_at) - now) < reach)
    .sort((a, b) => a.due_at.localeCompare(b.due_at) || a.name.localeCompare(b.name))

/** Runs as marks on a ribbon whose middle is now; where nothing is due there is none. */
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

/** How many are in each state, the worst first; states without any are left out. */
export function counts(slots: readonly Seen[]): { state: Shown; n: number }[] {
  return worstFirst.map(state => ({ state, n: slots.filter(s => s.state === state).length })).filter(({ n }) => n > 0)
}

export const isTrouble = (s: Seen): boolean => s.state === 'missed' || s.state === 'failed'

/** The runs of one job that have ended, as far as they were asked for. */
export type Runs = readonly Pick<Schemas['ScheduleRun'], 'status' | 'started_at' | 'ended_at'>[]

/** What went wrong, but for that whose job has had a good run since: that was made up for, and says when. */
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

/** Of each job the last slot that went wrong, the newest first; none when a later one went well. */
export function troublesOf(slots: readonly Seen[]): Seen[] {
  const last = new Map<string, Seen>()
  for (const s of [...slots].sort((a, b) => a.due_at.localeCompare(b.due_at))) {
    if (isTrouble(s) || s.state === 'made_up') last.set(s.job_id, s)
    else if (s.state === 'on_time' || s.state === 'late') last.delete(s.job_id)
  }
  return [...last.values()].sort((a, b) => b.due_at.localeCompare(a.due_at))
}

/** The hour in which a moment lies; the window is asked for anew when it has moved on by one. */
export const hourOf = (now: number): number => Math.floor(now / hour) * hour
