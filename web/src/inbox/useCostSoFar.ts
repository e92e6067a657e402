import { useQuery } from '@tanstack/react-query'
import { cost } from '../app/format'
import { activeRunsQuery, soFar } from '../spend/activeRuns'
import type { Told } from './item'

/** Returns what the run that an item is about has cost so far; null if no such run is active. */
export function useCostSoFar(item: Told): string | null {
  const runs = item.state !== 'resolved' && (item.kind === 'loop' || item.kind === 'run_stalled')
  const active = useQuery({ ...activeRunsQuery, enabled: runs }).data?.runs
  const spent = active?.filter(r => r.session_key === item.subject.id) ?? []
  return spent.length > 0 ? cost(soFar(spent)) : null
}
