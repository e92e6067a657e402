import { useQuery } from '@tanstack/react-query'
import { type Limit, limitsQuery } from '../spend/limitQueries'
import type { Told } from './item'

/** Returns the limit that an item is about; undefined if it is about something else. */
export function useLimitOf(item: Told): Limit | undefined {
  const limits = useQuery({ ...limitsQuery, enabled: item.kind === 'limit_reached' }).data?.limits
  return limits?.find(l => l.id === item.subject.id)
}
