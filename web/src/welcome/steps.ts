import type { Schemas } from '../api/client'
import { gateway as words } from '../texts/gateway'
import { welcome } from '../texts/welcome'

/** From an empty service to a team that reports, in this order. */
export const steps = ['connect', 'doctor', 'found', 'accounts', 'standup', 'end'] as const
export type Step = (typeof steps)[number]

/** The name of the runtime's job that starts the standups of the first team. */
export const standupJob = 'daily-standup'

export interface Known {
  gateway: Schemas['GatewayStatus'] | undefined
  exam: Schemas['GatewayExamination'] | undefined
  agents: readonly Schemas['Agent'][] | undefined
  jobs: readonly Pick<Schemas['ScheduleJob'], 'name'>[] | undefined
  /** Why something could not be read, where that is so. */
  failed?: { gateway?: string | undefined; agents?: string | undefined; jobs?: string | undefined }
}

/** The agents of the runtime that have no account yet. */
export const withoutAccount = (agents: readonly Schemas['Agent'][] | undefined): Schemas['Agent'][] =>
  (agents ?? []).filter(a => a.in_runtime === true && a.account === null)

/** How a step stands: done, still to do, or nobody can say; and why it is not done. */
export interface Standing {
  is: 'done' | 'open' | 'unknown'
  why: string
}

type Task = Exclude<Step, 'end'>
const why = welcome.why
const done: Standing = { is: 'done', why: '' }
const open = (because: string): Standing => ({ is: 'open', why: because })
const unknown = (because: string): Standing => ({ is: 'unknown', why: because })

/** What is asked of the runtime, while that cannot be asked: without a gateway it is to do, else nobody can say. */
function asked({ gateway, failed }: Known, then: () => Standing): Standing {
  if (!gateway) return unknown(failed?.gateway ?? why.reading)
  if (gateway.state === 'not_configured') return open(why.noGateway)
  return gateway.connected_at === null ? unknown(why.away) : then()
}

const standings: Record<Task, (known: Known) => Standing> = {
  connect: ({ gateway, failed }) => {
    if (!gateway) return unknown(failed?.gateway ?? why.reading)
    if (gateway.connected_at !== null) return done
    return open(gateway.state === 'not_configured' ? why.noGateway : why.notThere(words.states[gateway.state] ?? ''))
  },
  doctor: ({ gateway, exam, failed }) => {
    // What was found before the connection came or went is true no more.
    if (exam?.configured && !(gateway && gateway.since > exam.at))
      return exam.healthy ? done : open(exam.failure?.cause ?? why.unhealthy)
    if (!gateway) return unknown(failed?.gateway ?? why.reading)
    // What is used without a fault needs no examination.
    if (gateway.state === 'connected') return done
    return open(gateway.state === 'not_configured' ? why.noGateway : why.notExamined)
  },
  found: known =>
    asked(known, () => {
      if (!known.agents) return unknown(known.failed?.agents ?? why.reading)
      return known.agents.some(a => a.in_runtime === true) ? done : open(why.noAgents)
    }),
  accounts: known =>
    asked(known, () => {
      if (!known.agents) return unknown(known.failed?.agents ?? why.reading)
      const there = known.agents.filter(a => a.in_runtime === true).length
      const missing = withoutAccount(known.agents).length
      if (there === 0) return open(why.noAgents)
      return missing === 0 ? done : open(why.missing(missing, there))
    }),
  standup: known =>
    asked(known, () => {
      if (!known.jobs) return unknown(known.failed?.jobs ?? why.reading)
      return known.jobs.some(j => j.name === standupJob) ? done : open(why.noJob)
    }),
}

/**
 * How a step stands, by what is so, not by what was clicked: a reload, another
 * browser or a step that was skipped and done elsewhere changes nothing.
 */
export const standing = (step: Task, known: Known): Standing => standings[step](known)

/** The steps at which something is to be done. */
export const tasks = steps.filter((s): s is Task => s !== 'end')

/** The steps that are done. */
export const doneSteps = (known: Known): ReadonlySet<Step> =>
  new Set(tasks.filter(s => standing(s, known).is === 'done'))

/**
 * The steps to go back to, for somebody who has left them. While a gateway is away that was there before, there is
 * something to mend, and nothing to begin.
 */
export function stepsLeft(known: Known): Task[] {
  const left = tasks.filter(s => standing(s, known).is === 'open')
  const { gateway } = known
  return gateway?.connected_at === null && gateway.last_seen_at !== null ? [] : left
}

/** Where somebody goes on who comes without saying where: the first step that is not done. */
export const firstOpen = (done: ReadonlySet<Step>): Step => steps.find(s => s === 'end' || !done.has(s)) ?? 'end'

/** The step after or before another one. */
export const beside = (step: Step, by: 1 | -1): Step | undefined => steps[steps.indexOf(step) + by]

/** The five fields of a job at a time of the day; null when it is none. */
export function cronAt(time: string, days: string): string | null {
  const found = /^([01]\d|2[0-3]):([0-5]\d)/.exec(time)
  return found ? `${Number(found[2])} ${Number(found[1])} * * ${days}` : null
}
