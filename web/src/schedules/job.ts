import type { Schemas } from '../api/client'
import { comparable } from '../app/comparable'
import { cost as costWords, moment, money, myZone, nanos, span } from '../app/format'
import { schedules as scheduleTexts } from '../texts/schedules'
import { cronWords } from './cron'
import type { Slot } from './slots'

export type Job = Schemas['ScheduleJob']
export type Run = Schemas['ScheduleRun']
/** A job in the runtime, without the fields that Wardroom adds. */
export type Definition = Schemas['GatewayJob']

const words = scheduleTexts

/** The search parameters that select jobs. */
export interface Wanted {
  q?: string | undefined
  agent?: string | undefined
  show?: 'enabled' | 'disabled' | 'failing' | 'missed' | undefined
}

export const isFailing = (j: Pick<Job, 'state' | 'enabled'>): boolean => j.enabled && j.state.consecutiveErrors > 0

/** Returns whether a job is selected. `missed` has the IDs of the jobs that missed a run in the last 24 hours. */
export function fits(j: Job, w: Wanted, missed: ReadonlySet<string>): boolean {
  if (w.q && !comparable(j.name).includes(comparable(w.q))) return false
  if (w.agent && j.agentId !== w.agent) return false
  if (w.show === 'failing') return isFailing(j)
  if (w.show === 'missed') return missed.has(j.id)
  return w.show ? j.enabled === (w.show === 'enabled') : true
}

/** Sorts jobs by next run, those that failed or missed a run first. Jobs without a next run come last, by name. */
export function sorted(jobs: readonly Job[], missed: ReadonlySet<string>): Job[] {
  const rank = (j: Job) => (isFailing(j) ? '0' : missed.has(j.id) ? '1' : `2${j.next_runs[0]?.at ?? '9'}`)
  return [...jobs].sort((a, b) => rank(a).localeCompare(rank(b)) || a.name.localeCompare(b.name))
}

/** Returns the missed slots whose jobs have not succeeded since, as the inbox does. Counts are of the last 24 hours. */
export function openMisses(slots: readonly Slot[], jobs: readonly Job[]): Slot[] {
  const of = new Map(jobs.map(j => [j.id, j.state]))
  const recovered = (s: Slot) => {
    const state = of.get(s.job_id)
    return state?.lastStatus === 'ok' && (state.lastRunAt ?? '') >= s.due_at
  }
  return slots.filter(s => s.state === 'missed' && !recovered(s))
}

/** Returns the latest slot that counts as missed, unless the job has run since; a failed run matters more. */
export function missedSlot(j: Job, slots: readonly Slot[], now: number): Slot | null {
  const lately = slots.filter(s => Date.parse(s.due_at) > now - 86_400_000 && Date.parse(s.due_at) <= now)
  const last = openMisses(lately, [j]).at(-1)
  return last && (j.state.lastRunAt ?? '') < last.due_at ? last : null
}

/** Returns a job's schedule in words where possible. */
function timesOf(s: Definition['schedule']): string {
  if (s.kind === 'every') return s.everyMs ? words.cron.every(span(s.everyMs)) : (words.kinds.every ?? s.kind)
  if (s.kind === 'at') return s.at ? words.cron.once(moment(s.at)) : (words.kinds.at ?? s.kind)
  return s.expr ? (cronWords(s.expr) ?? s.expr) : s.kind
}

/** Like `timesOf`, with a capital letter. */
export function timesText(s: Definition['schedule']): string {
  const text = timesOf(s)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Names the time zone of a cron expression, unless it is the local one. */
export function zoneText(s: Definition['schedule']): string | null {
  if (s.kind !== 'cron' || s.tz === myZone()) return null
  return s.tz ? words.inZone(s.tz) : words.hostZone
}

/** The time zone of a job's times: its own, or UTC. */
export const zoneOf = (s: Definition['schedule']): string => s.tz || 'UTC'

/** Returns whether the name is that of a standup job. */
export const isStandupJob = (name: string): boolean => name === 'daily-standup' || name.startsWith('daily-standup-')

/** Returns the team of a standup job, by its name. */
export const teamOf = (name: string): string =>
  name === 'daily-standup' ? 'executive' : name.slice('daily-standup-'.length)

type Share = Pick<Schemas['UsageShare'], 'cost_usd' | 'runs' | 'unpriced_runs'>

const dollars = (n: bigint): string => {
  const digits = n.toString().padStart(10, '0')
  return money(`${digits.slice(0, -9)}.${digits.slice(-9)}`)
}

/** Returns the average of the priced runs in nano-dollars, or null. */
function average(share: Share | undefined): bigint | null {
  const sum = nanos(share?.cost_usd)
  const priced = share ? share.runs - share.unpriced_runs : 0
  return sum === null || priced <= 0 ? null : sum / BigInt(priced)
}

/** Returns the average cost of the priced runs. */
export function costPerRun(share: Share | undefined): string {
  if (!share || share.runs === 0) return words.noCost
  const each = average(share)
  return each === null ? costWords(share) : dollars(each)
}

const day = 86_400_000
const monthDays = 30.44

/** Returns what a job costs in a month if it keeps running as often as its next runs, or null if unknown. */
export function costPerMonth(share: Share | undefined, next: Job['next_runs']): string | null {
  const cost = monthly(share, next)
  return cost === null ? null : dollars(cost)
}

/** Returns what several jobs cost in a month together, without those whose cost is unknown; null for fewer than two. */
export function monthOf(
  jobs: readonly Job[],
  groups: readonly (Share & { key: string | null })[],
): { usd: bigint; text: string } | null {
  const costs = jobs.flatMap(
    j =>
      monthly(
        groups.find(g => g.key === j.id),
        j.next_runs,
      ) ?? [],
  )
  if (costs.length < 2) return null
  const usd = costs.reduce((a, b) => a + b, 0n)
  return { usd, text: dollars(usd) }
}

/** Like `costPerMonth`, in nano-dollars. */
function monthly(share: Share | undefined, next: Job['next_runs']): bigint | null {
  const each = average(share)
  const runs = each === null ? null : runsPerMonth(next)
  return each === null || runs === null ? null : (each * BigInt(Math.round(runs * 100))) / 100n
}

/**
 * Returns how many runs a month has at the pace of the next ones. Full weeks count, else full days, because a job may
 * pause at night or on weekends.
 */
function runsPerMonth(next: Job['next_runs']): number | null {
  const [first] = next
  if (!first || next.length < 2) return null
  const after = next.slice(1).map((n, i) => ({
    runs: i + 1,
    days: (Date.parse(n.at) - Date.parse(first.at)) / day,
    full: n.local.slice(11, 16) === first.local.slice(11, 16),
  }))
  const full = after.filter(n => n.full && n.days > 0.9).map(n => ({ ...n, days: Math.round(n.days) }))
  const last = full.findLast(n => n.days % 7 === 0) ?? full.at(-1) ?? after.at(-1)
  return last ? (last.runs * monthDays) / last.days : null
}
