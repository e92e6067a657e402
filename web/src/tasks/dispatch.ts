import type { Schemas } from '../api/client'
import { grouped, money, tokens, unknown } from '../app/format'
import { leads, type Person } from '../app/queries'
import { texts } from '../texts'
import type { Task } from './task'

const words = texts.tasks.dispatch

/** Returns the known cost of a task's runs, or null. */
export function costOf(task: Pick<Task, 'cost_usd' | 'cost_complete'>): string | null {
  if (task.cost_complete === null) return null
  if (task.cost_usd === null) return task.cost_complete ? null : words.unpriced
  return task.cost_complete ? money(task.cost_usd) : words.atLeast(money(task.cost_usd))
}

/** Returns the total tokens of a task's runs, and the parts. */
export function tokensOf(t: Task['tokens']): { sum: string; parts: string } | null {
  if (t === null) return null
  const all = [t.input, t.output, t.cache_read, t.cache_write, t.other]
  return {
    sum: tokens(all.reduce((a, b) => a + b, 0)),
    parts: words.tokenParts(all.map(n => grouped(n))),
  }
}

/** Returns whether the task is with an agent, or queued for one. */
export const isGoing = (d: Task['dispatch']): boolean => d?.state === 'queued' || d?.state === 'started'

interface Asking {
  me: Schemas['AccountUser'] | undefined
  gateway: { state: string } | undefined
  holder: Person | undefined
}

/** Returns why a task can't be sent to its agent, or null. The server enforces it. */
export function whyNot(task: Task, { me, gateway, holder }: Asking): string | null {
  if (!me || !leads(me)) return words.onlyLeads
  if (gateway?.state === 'not_configured') return words.noGateway
  if (task.status === 'done') return words.isDone
  if (task.archived_at !== null) return words.isArchived
  if (!holder?.agent || !holder.active) return words.noAgent
  if (task.waiting_on > 0) return words.isWaiting(task.waiting_on)
  if (task.claim && task.claim.by !== holder.id && Date.parse(task.claim.expires_at) > Date.now())
    return words.isHeld(task.claim.name)
  return null
}

/** Returns the name of an agent, or its ID. */
export function agentName(agent: string, people: ReadonlyMap<string, Person>): string {
  for (const p of people.values()) if (p.agent === agent) return p.name
  return agent || unknown
}
