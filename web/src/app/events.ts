import { infiniteQueryOptions, type QueryKey } from '@tanstack/react-query'
import { api, type Page, type Schemas, takePage } from '../api/client'
import type { paths } from '../api/schema'

/** Page size of the event queries. */
export const eventsAtOnce = 200

type Asked = NonNullable<paths['/api/v1/activity']['get']['parameters']['query']>

/** Activity events, newest first, page by page. */
export const eventsQuery = (queryKey: QueryKey, asked: Asked) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }): Promise<Page<Schemas['Event']>> => {
      const query = { ...asked, limit: eventsAtOnce, ...(pageParam ? { cursor: pageParam } : {}) }
      return takePage(api.GET('/api/v1/activity', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: last => last.next,
  })
