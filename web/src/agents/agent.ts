import type { Schemas } from '../api/client'
import { addDays } from '../app/days'
import { nanos } from '../app/format'
import { knownOf } from '../spend/ledger'

export type Agent = Schemas['Agent']
export type AgentDetails = Schemas['AgentPage']
export type Team = Schemas['StandupTeam']

/** One place in the tree: an agent, or a name that a team gives and nobody knows. */
export interface Place {
  id: string
  agent: Agent | null
}

export interface Branch {
  id: string
  name: string
  lead: Place
  members: Place[]
}

/**
 * Who reports to whom, as the teams say it: those who are asked in a standup
 * report to its facilitator. Agents that no team names stand alone.
 */
export function treeOf(
  agents: readonly Agent[],
  teams: readonly Pick<Team, 'id' | 'name' | 'facilitator' | 'participants'>[],
): { branches: Branch[]; alone: Agent[] } {
  const known = new Map(agents.map(a => [a.agent_id, a]))
  const named = new Set<string>()
  const place = (id: string): Place => {
    named.add(id)
    return { id, agent: known.get(id) ?? null }
  }
  const branches = teams.map(t => ({
    id: t.id,
    name: t.name,
    lead: place(t.facilitator),
    members: t.participants.filter(id => id !== t.facilitator).map(place),
  }))
  return { branches, alone: agents.filter(a => !named.has(a.agent_id)) }
}

/** What an agent is to be called: its name with the drawing that it chose, or its id. */
export const calledAs = (a: Pick<Agent, 'name' | 'emoji' | 'agent_id'>): string =>
  `${a.emoji ? `${a.emoji} ` : ''}${a.name || a.agent_id}`

/** How many of its tasks are not done. */
export const openTasks = (d: Schemas['AgentDesk']): number =>
  d.open.backlog + d.open.todo + d.open.in_progress + d.open.review

/** The last days, the earliest first, of which the last is given. */
export const daysUntil = (last: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => addDays(last, i - count + 1))

/** What one day cost an agent, as far as it is known; null is "nobody can say yet". */
export interface DayCost {
  day: string
  cost: Pick<Schemas['UsageShare'], 'cost_usd' | 'runs' | 'unpriced_runs'> | null
}

/** The row of an agent in a report by agents. Without a row it had no runs, unless the rest hides it or the ledger began later. */
export function shareOf(report: Schemas['UsageReport'] | undefined, agentID: string): DayCost['cost'] {
  if (!report || knownOf(report, Date.now()) === 'nothing') return null
  const found = report.groups.find(g => g.key === agentID && !g.rest)
  if (found) return found
  return report.groups.some(g => g.rest) ? null : { cost_usd: '0', runs: 0, unpriced_runs: 0 }
}

/** How long each bar is, from 0 to 100; null has no bar, because what is unknown is not nothing. */
export function bars(days: readonly DayCost[]): (number | null)[] {
  const sums = days.map(d => (d.cost === null ? null : nanos(d.cost.cost_usd)))
  const most = sums.reduce<bigint>((m, s) => (s !== null && s > m ? s : m), 0n)
  return sums.map(s => (s === null ? null : most === 0n ? 0 : Number((s * 1000n) / most) / 10))
}
