import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, take } from '../api/client'
import { cost, nanos } from '../app/format'
import { spend as words } from '../texts/spend'
import { soFar, useActiveIn } from './activeRuns'
import type { Report } from './sums'

export const idleQuery = queryOptions({
  queryKey: ['usage', 'idle'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/usage/idle', { signal })),
})

/** What heartbeats and jobs cost that changed nothing, beside the week's total; nothing if there were none. */
export function IdleLine({ week }: { week: Report | null }) {
  const { data } = useQuery(idleQuery)
  const active = useActiveIn(week ?? { to: '' })
  if (!data || data.runs === 0) return null
  const all = week ? Number(nanos(soFar(active, week.total).cost_usd) ?? 0n) : 0
  const part = Number(nanos(data.cost_usd) ?? 0n)
  return (
    <div className="rounded-md bg-attention-tint px-3 py-1.5 max-sm:w-full" data-idle="">
      <p className="font-medium">
        {words.idle(cost(data), part > 0 && part <= all ? Math.round((100 * part) / all) : null)}
      </p>
      <p className="flex flex-wrap gap-x-2 text-soft">
        {words.idleRuns(data.runs)}
        <Link className="text-accent underline" to="/schedules">
          {words.idleAction}
        </Link>
      </p>
    </div>
  )
}
