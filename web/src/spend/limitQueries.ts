import { queryOptions } from '@tanstack/react-query'
import { api, type Schemas, take } from '../api/client'

export type Limit = Schemas['Limit']
export type NewLimit = Schemas['LimitNew']

export const limitsQuery = queryOptions({
  queryKey: ['usage', 'limits'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/limits', { signal })),
  staleTime: 0,
})

/** Returns what a limit would have done. It asks again only for other values. */
export const previewQuery = (limit: NewLimit) =>
  queryOptions({
    queryKey: ['usage', 'limits', 'preview', limit],
    queryFn: ({ signal }) => take(api.POST('/api/v1/limits/preview', { body: limit, signal })),
    enabled: Number(limit.amount) > 0 && (limit.scope === 'all') === (limit.scope_id === ''),
    retry: false,
  })
