import { queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from '../api/client'
import { nanos } from '../app/format'

/** The usage of active runs, refetched when it or the ledger changes. */
export const activeRunsQuery = queryOptions({
  queryKey: ['usage', 'going'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/usage/going', { signal })),
})

type Run = Pick<Schemas['UsageGoingRun'], 'cost_usd' | 'cost_complete'>

/** Sums the cost of active runs. An unpriced run doesn't make the sum unknown. */
export function soFar(runs: readonly Run[]) {
  let sum = 0n
  for (const r of runs) sum += nanos(r.cost_usd) ?? 0n
  const size = String(sum).padStart(10, '0')
  return {
    cost_usd: `${size.slice(0, -9)}.${size.slice(-9)}`,
    unpriced_runs: runs.filter(r => !r.cost_complete).length,
    runs: runs.length,
  }
}
