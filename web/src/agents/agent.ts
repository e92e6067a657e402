import type { Schemas } from '../api/client'
import { addDays } from '../app/days'
import { nanos } from '../app/format'
import { knownOf } from '../spend/ledger'

export type Agent = Schemas['Agent']
export type AgentDetails = Schemas['AgentPage']
export type Team = Schemas['StandupTeam']

/** An entry of the team view: an agent, or an ID in a team that matches no agent. */
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
 * Groups agents by standup team: the facilitator, then the participants. Agents without a team are listed separately.
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

/** Returns the number of tasks that are not done. */
export const openTasks = (d: Schemas['AgentDesk']): number =>
  d.open.backlog + d.open.todo + d.open.in_progress + d.open.review

/** Returns `count` days up to `last`, earliest first. */
export const daysUntil = (last: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => addDays(last, i - count + 1))

/** The cost of an agent on one day; null if unknown. */
export interface DayCost {
  day: string
  cost: Pick<Schemas['UsageShare'], 'cost_usd' | 'runs' | 'unpriced_runs'> | null
}

/**
 * Returns the agent's row in a usage report, or zeros if it has none. Null means unknown: tracking started later, or
 * the report combines several agents into one row.
 */
export function shareOf(report: Schemas['UsageReport'] | undefined, agentID: string): DayCost['cost'] {
  if (!report || knownOf(report, Date.now()) === 'nothing') return null
  const found = report.groups.find(g => g.key === agentID && !g.rest)
  if (found) return found
  return report.groups.some(g => g.rest) ? null : { cost_usd: '0', runs: 0, unpriced_runs: 0 }
}

/** Returns the bar lengths from 0 to 100; null for unknown costs. */
export function bars(days: readonly DayCost[]): (number | null)[] {
  const sums = days.map(d => (d.cost === null ? null : nanos(d.cost.cost_usd)))
  const most = sums.reduce<bigint>((m, s) => (s !== null && s > m ? s : m), 0n)
  return sums.map(s => (s === null ? null : most === 0n ? 0 : Number((s * 1000n) / most) / 10))
}
