import { useQuery } from '@tanstack/react-query'
import { cost, nanos } from '../app/format'
import { activeRunsQuery, soFar } from '../spend/activeRuns'
import { costOf } from './Bits'
import { canonical } from './liveSessions'
import type { Archived, Session } from './session'

/** Returns the ID of a session's active run. The ledger knows it even if the run began before Wardroom connected. */
export function useActiveRun(s: Session | Archived): string | undefined {
  const live = 'active_run_id' in s && s.active ? s : null
  const { data } = useQuery({ ...activeRunsQuery, enabled: live !== null })
  if (!live) return undefined
  if (live.active_run_id) return live.active_run_id
  // A run that ended with the runtime can still be listed.
  const own = data?.runs.filter(r => canonical(r.session_key) === canonical(s.key)) ?? []
  return own.toSorted((a, b) => b.as_of.localeCompare(a.as_of))[0]?.run_id
}

/** Returns the cost of a session as text. That of its active runs counts until the session's own includes it. */
export function useCost(s: Session | Archived): string {
  const active = 'active' in s && s.active
  const { data } = useQuery({ ...activeRunsQuery, enabled: active })
  if (!active) return costOf(s)
  const runs = data?.runs.filter(r => canonical(r.session_key) === canonical(s.key)) ?? []
  const now = soFar(runs)
  return runs.length > 0 && (nanos(now.cost_usd) ?? 0n) > (nanos(s.cost_usd) ?? 0n) ? cost(now) : costOf(s)
}
