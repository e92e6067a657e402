import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, type Schemas, take } from '../api/client'
import * as clock from '../app/clock'
import { nanos, usd } from '../app/format'
import { partId } from './split'
import { plusTokens, type Report, type Share, type Sums } from './sums'

/** The usage of active runs, refetched when it or the ledger changes. */
export const activeRunsQuery = queryOptions({
  queryKey: ['usage', 'going'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/usage/going', { signal })),
})

type Run = Pick<Schemas['UsageGoingRun'], 'cost_usd' | 'cost_complete'>

interface Cost {
  cost_usd?: string | null
  unpriced_runs: number
  runs: number
}

/** Sums the cost of active runs, and of ended ones. An unpriced run doesn't make the sum unknown. */
export function soFar(runs: readonly Run[], ended: Cost = { unpriced_runs: 0, runs: 0 }): Cost {
  let sum = nanos(ended.cost_usd) ?? 0n
  for (const r of runs) sum += nanos(r.cost_usd) ?? 0n
  return {
    cost_usd: usd(sum),
    unpriced_runs: ended.unpriced_runs + runs.filter(r => !r.cost_complete).length,
    runs: ended.runs + runs.length,
  }
}

const none: readonly Schemas['UsageGoingRun'][] = []

/** Returns the active runs whose usage counts in a period: none if it is over. */
export function useActiveIn(period: { to: string }): readonly Schemas['UsageGoingRun'][] {
  const runs = useQuery(activeRunsQuery).data?.runs
  return runs && Date.parse(period.to) > clock.now() ? runs : none
}

type ActiveRun = Schemas['UsageGoingRun']

/** What an active run belongs to, by the group of a report. Its models and project are known when it ends. */
const keysOf: Partial<Record<string, (r: ActiveRun) => string | null>> = {
  agent: r => r.agent_id,
  task: r => r.task_key,
  job: r => r.job_id,
  source: r => r.source,
  session: r => r.session_key,
}

const sumsOf = (runs: readonly ActiveRun[]): Sums => {
  const of = soFar(runs)
  return {
    ...{ runs: of.runs, unpriced_runs: of.unpriced_runs, corrections: 0 },
    // Without any price the cost is unknown, not zero.
    cost_usd: runs.some(r => r.cost_usd !== null) ? (of.cost_usd ?? null) : null,
    estimated_usd: usd(runs.reduce((sum, r) => sum + (nanos(r.estimated_usd) ?? 0n), 0n)),
    tokens: runs.map(r => r.tokens).reduce(plusTokens),
  }
}

const plusSums = <T extends Sums>(a: T, b: Sums): T => ({
  ...a,
  ...{ runs: a.runs + b.runs, unpriced_runs: a.unpriced_runs + b.unpriced_runs },
  cost_usd: a.cost_usd === null ? b.cost_usd : usd((nanos(a.cost_usd) ?? 0n) + (nanos(b.cost_usd) ?? 0n)),
  estimated_usd: usd((nanos(a.estimated_usd) ?? 0n) + (nanos(b.estimated_usd) ?? 0n)),
  tokens: plusTokens(a.tokens, b.tokens),
})

/** Returns the active runs as groups: by what they belong to, or as one group if that isn't known yet. */
function sharesOf(group: string, runs: readonly ActiveRun[]): Share[] {
  const none = { name: null, assignee_id: null, rest: false }
  const key = keysOf[group]
  if (!key) return [{ ...none, ...sumsOf(runs), key: null, active: true }]
  return [...new Set(runs.map(key))].map(k => ({ ...none, ...sumsOf(runs.filter(r => key(r) === k)), key: k }))
}

const merged = (groups: readonly Share[], shares: readonly Share[]): Share[] => [
  ...groups.map(g => shares.filter(s => partId(s) === partId(g)).reduce(plusSums, g)),
  ...shares.filter(s => groups.every(g => partId(s) !== partId(g))),
]

/** Adds active runs to a report whose period has not ended: to its total, its groups, and the bar that still grows. */
export function withActive(report: Report, runs: readonly ActiveRun[], now: number): Report {
  if (runs.length === 0) return report
  const shares = sharesOf(report.group, runs)
  const grows = (b: { start: string; end: string }) => Date.parse(b.start) <= now && now < Date.parse(b.end)
  return {
    ...report,
    total: shares.reduce(plusSums, report.total),
    groups: merged(report.groups, shares),
    bars: report.bars.map(b => (grows(b) ? { ...b, groups: merged(b.groups, shares) } : b)),
  }
}

/** Returns an agent's active runs. */
export function useActiveOf(agent: string): readonly Schemas['UsageGoingRun'][] {
  return useQuery(activeRunsQuery).data?.runs.filter(r => r.agent_id === agent) ?? none
}
