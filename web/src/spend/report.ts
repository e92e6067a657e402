import { queryOptions } from '@tanstack/react-query'
import { api, take } from '../api/client'
import type { Ask } from './period'
import type { Report } from './sums'

export type Group = Report['group']

/** Only the chart needs bars, and only its page compares. */
const extras = (group: Group) => (group === 'session' || group === 'day' ? {} : { bars: true, compare: true })

/**
 * A usage report by time and group. Sessions have no time series. Its key starts with `usage`, which is refetched when
 * the ledger grows. While a new grouping loads, the previous report stays.
 */
export const reportQuery = (ask: Ask, group: Group) =>
  queryOptions({
    queryKey: ['usage', 'report', ask, group] as const,
    queryFn: ({ signal }): Promise<Report> =>
      take(api.GET('/api/v1/usage', { params: { query: { ...ask, group, ...extras(group) } }, signal })),
    placeholderData: (was: Report | undefined, query) =>
      JSON.stringify(query?.queryKey[2]) === JSON.stringify(ask) ? was : undefined,
  })
