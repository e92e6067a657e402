import type { Schemas } from '../api/client'

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
}

/** The agents of the runtime that have no account yet. */
export const withoutAccount = (agents: readonly Schemas['Agent'][] | undefined): Schemas['Agent'][] =>
  (agents ?? []).filter(a => a.in_runtime === true && a.account === null)

/**
 * What has been done, by what is so, not by what was clicked: a reload, another
 * browser or a step that was skipped and done elsewhere changes nothing.
 */
export function doneSteps({ gateway, exam, agents, jobs }: Known): ReadonlySet<Step> {
  const done = new Set<Step>()
  const connected = gateway !== undefined && gateway.connected_at !== null
  const there = agents?.some(a => a.in_runtime === true) ?? false
  if (connected) done.add('connect')
  // What is used without a fault needs no examination.
  if (exam ? exam.configured && exam.healthy : gateway?.state === 'connected') done.add('doctor')
  if (connected && there) done.add('found')
  if (there && withoutAccount(agents).length === 0) done.add('accounts')
  if (jobs?.some(j => j.name === standupJob)) done.add('standup')
  return done
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
