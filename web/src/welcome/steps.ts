import type { Schemas } from '../api/client'
import { gateway as words } from '../texts/gateway'
import { welcome } from '../texts/welcome'

/** The steps in their order. */
export const steps = ['connect', 'doctor', 'found', 'accounts', 'standup', 'end'] as const
export type Step = (typeof steps)[number]

/** The name of the default team's standup job. */
export const standupJob = 'daily-standup'

export interface Known {
  gateway: Schemas['GatewayStatus'] | undefined
  exam: Schemas['GatewayExamination'] | undefined
  agents: readonly Schemas['Agent'][] | undefined
  jobs: readonly Pick<Schemas['ScheduleJob'], 'name'>[] | undefined
  /** Errors of the queries. */
  failed?: { gateway?: string | undefined; agents?: string | undefined; jobs?: string | undefined }
}

/** Returns the runtime's agents without an account. */
export const withoutAccount = (agents: readonly Schemas['Agent'][] | undefined): Schemas['Agent'][] =>
  (agents ?? []).filter(a => a.in_runtime === true && a.account === null)

/** The status of a step, and why it isn't done. A step that waits can't be done before the gateway is connected. */
export interface Standing {
  is: 'done' | 'open' | 'waits' | 'unknown'
  why: string
}

type Task = Exclude<Step, 'end'>
const why = welcome.why
const done: Standing = { is: 'done', why: '' }
const open = (because: string): Standing => ({ is: 'open', why: because })
const waits: Standing = { is: 'waits', why: why.needsGateway }
const unknown = (because: string): Standing => ({ is: 'unknown', why: because })

/** The status of a step that needs the gateway: it waits until the first connection, and is unknown while offline. */
function asked({ gateway, failed }: Known, then: () => Standing): Standing {
  if (!gateway) return unknown(failed?.gateway ?? why.reading)
  if (gateway.connected_at !== null) return then()
  return gateway.last_seen_at === null ? waits : unknown(why.away)
}

const standings: Record<Task, (known: Known) => Standing> = {
  connect: ({ gateway, failed }) => {
    if (!gateway) return unknown(failed?.gateway ?? why.reading)
    if (gateway.connected_at !== null) return done
    return open(gateway.state === 'not_configured' ? why.noGateway : why.notThere(words.states[gateway.state] ?? ''))
  },
  doctor: ({ gateway, exam, failed }) => {
    // A result from before the connection changed is outdated.
    if (exam?.configured && !(gateway && gateway.since > exam.at))
      return exam.healthy ? done : open(exam.failure?.cause ?? why.unhealthy)
    if (!gateway) return unknown(failed?.gateway ?? why.reading)
    // A working connection needs no check.
    if (gateway.state === 'connected') return done
    return gateway.state === 'not_configured' ? waits : open(why.notExamined)
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
 * Returns the status of a step, from the current state rather than from clicks, so that it survives reloads and counts
 * steps done elsewhere.
 */
export const standing = (step: Task, known: Known): Standing => standings[step](known)

/** The steps with something to do. */
export const tasks = steps.filter((s): s is Task => s !== 'end')

/** Returns the steps that are done. */
export const doneSteps = (known: Known): ReadonlySet<Step> =>
  new Set(tasks.filter(s => standing(s, known).is === 'done'))

/** Returns whether a step needs the gateway, which isn't connected. */
export const lacksGateway = (step: Task, known: Known): boolean =>
  standing(step, known).is === 'waits' ||
  (step !== 'connect' && step !== 'doctor' && known.gateway?.connected_at === null)

/**
 * Returns the steps for the reminder that aren't done. None while a formerly connected gateway is offline, which needs repair
 * instead.
 */
export function stepsLeft(known: Known): Task[] {
  const left = tasks.filter(s => /^(open|waits)$/.test(standing(s, known).is))
  const { gateway } = known
  return gateway?.connected_at === null && gateway.last_seen_at !== null ? [] : left
}

/** Returns the first step that isn't done. */
export const firstOpen = (done: ReadonlySet<Step>): Step => steps.find(s => s === 'end' || !done.has(s)) ?? 'end'

/** Returns the next or previous step, without those that can't be done. */
export function beside(step: Step, by: 1 | -1, known: Known): Step | undefined {
  const next = steps[steps.indexOf(step) + by]
  return next && next !== 'end' && lacksGateway(next, known) ? beside(next, by, known) : next
}
