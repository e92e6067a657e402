import { queryOptions } from '@tanstack/react-query'
import { api, take } from '../api/client'
import type { Ask } from './period'
import type { Report } from './sums'

export type Group = Report['group']

export const readReport = (query: Ask & { group: Group }, signal: AbortSignal): Promise<Report> =>
  take(api.GET('/api/v1/usage', { params: { query }, signal }))

/**
 * What a period used. Its key begins with usage, which the frame has read anew
 * whenever the ledger grows. With another group what was there stays until the
 * new one is: the report says itself by what it is.
 */
export const reportQuery = (ask: Ask, group: Group) =>
  queryOptions({
    queryKey: ['usage', 'report', ask, group] as const,
    queryFn: ({ signal }) => readReport({ ...ask, group }, signal),
    placeholderData: (was: Report | undefined, query) =>
      JSON.stringify(query?.queryKey[2]) === JSON.stringify(ask) ? was : undefined,
  })
