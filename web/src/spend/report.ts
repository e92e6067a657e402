import { queryOptions } from '@tanstack/react-query'
import { api, take } from '../api/client'
import type { Ask } from './period'
import type { Report } from './sums'

export type Group = Report['group']

/**
 * What a period used, and what each bar of it is made of. Sessions have no bars. Its key begins with usage, which the frame has read anew
 * whenever the ledger grows. With another group what was there stays until the
 * new one is: the report says itself by what it is.
 */
export const reportQuery = (ask: Ask, group: Group) =>
  queryOptions({
    queryKey: ['usage', 'report', ask, group] as const,
    queryFn: ({ signal }): Promise<Report> =>
      take(api.GET('/api/v1/usage', { params: { query: { ...ask, group, bars: group !== 'session' } }, signal })),
    placeholderData: (was: Report | undefined, query) =>
      JSON.stringify(query?.queryKey[2]) === JSON.stringify(ask) ? was : undefined,
  })
