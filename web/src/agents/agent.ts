import type { Schemas } from '../api/client'
import { comparable } from '../app/comparable'
import { nanos } from '../app/format'
import { nameOf, partsOf } from '../sessions/session'
import { soFar } from '../spend/activeRuns'
import { knownOf } from '../spend/ledger'
import type { statuses } from '../tasks/task'

export type Agent = Schemas['Agent']
export type AgentDetails = Schemas['AgentPage']
export type AgentSession = Schemas['AgentSession']
export type Spend = Schemas['AgentSpend']
export type Team = Pick<Schemas['StandupTeam'], 'id' | 'name' | 'facilitator' | 'participants'>

export interface Group {
  id: string
  /** Null for agents without a team. */
  name: string | null
  agents: Agent[]
}

/** Groups agents by team, facilitator first. An agent of several teams is in the first one only. */
export function groupsOf(agents: readonly Agent[], teams: readonly Team[]): Group[] {
  const left = new Map(agents.map(a => [a.agent_id, a]))
  const take = (id: string): Agent[] => {
    const found = left.get(id)
    left.delete(id)
    return found ? [found] : []
  }
  const groups = teams.map(t => ({ id: t.id, name: t.name, agents: [t.facilitator, ...t.participants].flatMap(take) }))
  return [...groups, { id: '', name: null, agents: [...left.values()] }].filter(g => g.agents.length > 0)
}

/** Returns the agents whose name or ID contains the text. */
export const named = (agents: readonly Agent[], text: string): Agent[] =>
  agents.filter(a => comparable(`${a.name} ${a.agent_id}`).includes(comparable(text)))

/** Returns the name of a session and the task that it works on. */
export function titleOf(s: AgentSession): { name: string; task: string | undefined } {
  return { name: s.title ?? nameOf(s), task: partsOf(s.key).task }
}

/** A day of an agent. Its cost is null if unknown, such as before tracking started. */
export interface DayCost {
  day: string
  cost: Spend['days'][number] | null
  /** The length of its bar from 0 to 100; null if unknown. */
  bar: number | null
}

/** Returns the costs of an agent's last 7 days, that of today with its active runs. */
export function daysOf(spend: Spend, active: readonly Schemas['UsageGoingRun'][] = []): DayCost[] {
  const known = (day: string) =>
    knownOf({ ...spend, from: `${day}T00:00:00Z`, to: `${day}T23:59:59Z` }, Date.now()) !== 'nothing'
  const today = spend.days.at(-1)
  const days = spend.days.map(d => ({
    day: d.day,
    cost: known(d.day) ? (d === today ? { ...d, ...soFar(active, d) } : d) : null,
  }))
  const sums = days.map(d => (d.cost === null ? null : nanos(d.cost.cost_usd)))
  const most = sums.reduce<bigint>((m, s) => (s !== null && s > m ? s : m), 0n)
  return days.map((d, i) => {
    const sum = sums[i] ?? null
    return { ...d, bar: sum === null ? null : most === 0n ? 0 : Number((sum * 1000n) / most) / 10 }
  })
}

type Failure = AgentDetails['failures'][number]

/** Combines repeated failures of the same job or task into one with their number, at the place of the latest. */
export function repeated(failures: readonly Failure[]): { failure: Failure; times: number }[] {
  const found = new Map<string, { failure: Failure; times: number }>()
  for (const failure of failures) {
    const name = `${failure.kind} ${failure.what}`
    const was = found.get(name)
    if (was) was.times++
    else found.set(name, { failure, times: 1 })
  }
  return [...found.values()]
}

const columns: readonly (typeof statuses)[number][] = ['in_progress', 'review', 'todo', 'backlog', 'done']

/** Sorts tasks by what needs a look: blocked, then by column, done last. Within a column they stay as they are. */
export const byUrgency = (tasks: AgentDetails['tasks']['last']): AgentDetails['tasks']['last'] =>
  [...tasks].sort(
    (a, b) => Number(b.blocked) - Number(a.blocked) || columns.indexOf(a.status) - columns.indexOf(b.status),
  )
