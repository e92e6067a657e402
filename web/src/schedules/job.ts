import type { Schemas } from '../api/client'
import { cost as costWords, moment, money, nanos, span } from '../app/format'
import { schedules as scheduleTexts } from '../texts/schedules'
import { cronWords } from './cron'

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
  if (w.q && !j.name.toLowerCase().includes(w.q.toLowerCase())) return false
  if (w.agent && j.agentId !== w.agent) return false
  if (w.show === 'failing') return isFailing(j)
  if (w.show === 'missed') return missed.has(j.id)
  return w.show ? j.enabled === (w.show === 'enabled') : true
}

/** Sorts jobs by next run. Jobs without one come last, by name. */
export function sorted(jobs: readonly Job[]): Job[] {
  const next = (j: Job) => j.next_runs[0]?.at ?? '9'
  return [...jobs].sort((a, b) => next(a).localeCompare(next(b)) || a.name.localeCompare(b.name))
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

/** The time zone in which a job's times are shown: its own, or UTC. */
export const zoneOf = (s: Definition['schedule']): string => s.tz || 'UTC'

/** Returns whether the name is that of a standup job. */
export const isStandupJob = (name: string): boolean => name === 'daily-standup' || name.startsWith('daily-standup-')

/** Returns the team of a standup job, by its name. */
export const teamOf = (name: string): string =>
  name === 'daily-standup' ? 'executive' : name.slice('daily-standup-'.length)

/** Returns the average cost of the priced runs. */
export function costPerRun(
  share: Pick<Schemas['UsageShare'], 'cost_usd' | 'runs' | 'unpriced_runs'> | undefined,
): string {
  if (!share || share.runs === 0) return words.noCost
  const priced = share.runs - share.unpriced_runs
  const sum = nanos(share.cost_usd)
  if (priced <= 0 || sum === null) return costWords(share)
  const each = sum / BigInt(priced)
  const digits = each.toString().padStart(10, '0')
  return money(`${digits.slice(0, -9)}.${digits.slice(-9)}`)
}
