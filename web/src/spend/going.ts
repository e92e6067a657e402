import { queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from '../api/client'
import { nanos } from '../app/format'

/** What the runs that are going have used so far; it is read anew when the ledger, or this, changes. */
export const goingQuery = queryOptions({
  queryKey: ['usage', 'going'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/usage/going', { signal })),
})

type Run = Pick<Schemas['UsageGoingRun'], 'cost_usd' | 'cost_complete'>

/** What runs have cost so far, as format.cost takes it: one without a price makes the others' not unknown. */
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
