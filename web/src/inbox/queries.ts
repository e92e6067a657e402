import { type InfiniteData, infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, type Page, take, takePage } from '../api/client'
import { eventsQuery } from '../app/events'
import { Latest } from '../app/live/latest'
import { mapRows } from '../app/live/patches'
import { session } from '../app/session'
import { type Item, kinds, severities, states, type Told } from './item'
import type { Filters } from './itemFilters'

const pageSize = 100

const pick = <T extends string>(list: string | undefined, words: readonly T[]): T[] | undefined =>
  list ? words.filter(w => list.split(',').includes(w)) : undefined

/** The matching items, page by page. */
export const listQuery = (f: Filters) =>
  infiniteQueryOptions({
    queryKey: ['inbox', 'list', f],
    queryFn: ({ pageParam, signal }): Promise<Page<Told>> => {
      const state = pick(f.state, states)
      const kind = pick(f.kind, kinds)
      const severity = pick(f.severity, severities)
      const query = {
        limit: pageSize,
        sort: f.order ?? ('rank' as const),
        ...(pageParam ? { cursor: pageParam } : {}),
        ...(state ? { state } : {}),
        ...(kind ? { kind } : {}),
        ...(severity ? { severity } : {}),
        ...(f.assignee ? { assignee: f.assignee } : {}),
        ...(f.needsMe ? { needs_me: true } : {}),
      }
      return takePage<Told>(api.GET('/api/v1/inbox', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: last => last.next,
  })

export const oneQuery = (id: string) =>
  queryOptions({
    queryKey: ['inbox', 'one', id],
    queryFn: ({ signal }) => take(api.GET('/api/v1/inbox/{id}', { params: { path: { id } }, signal })),
  })

/** The history of an item, newest first. */
export const historyQuery = (id: string) =>
  eventsQuery(['inbox', 'history', id], { subject_kind: 'inbox', subject_id: id })

/** The number of items that need the user: the rows of Needs you on Now. */
export const needsCountQuery = queryOptions({
  queryKey: ['inbox', 'needs'],
  queryFn: async ({ signal }): Promise<number | null> => {
    const query = { needs_me: true, limit: 1, total: true }
    const { response } = await api.GET('/api/v1/inbox', { params: { query }, signal })
    const total = Number(response.headers.get('X-Total-Count') ?? Number.NaN)
    return Number.isNaN(total) ? null : total
  },
})

// A repeat raises the count without a new version.
const newer = (next: Told, was: Told) =>
  next.version > was.version || (next.version === was.version && next.count >= was.count)

/** The latest version of each item, to merge into pages that load later. */
export const latest = new Latest<Told>(
  (next, was) => next.version > was.version || (next.version === was.version && next.count > was.count),
)
session.onLeave(() => latest.clear())

type List = InfiniteData<Page<Told>>

/** Puts an item into all cached answers, adding it to lists where it is new. */
export function putItem(cache: QueryClient, item: Told & { detail?: string }): void {
  latest.put(item)
  const merged = (was: Told): Told => (was.id === item.id && newer(item, was) ? { ...was, ...item } : was)
  cache.setQueriesData<List>({ queryKey: ['inbox', 'list'] }, data => {
    if (!data) return data
    const [firstPage, ...others] = data.pages
    if (firstPage && !data.pages.some(p => p.rows.some(i => i.id === item.id)))
      return { ...data, pages: [{ ...firstPage, rows: [...firstPage.rows, item] }, ...others] }
    return mapRows(data, merged) as List
  })
  cache.setQueryData<Item>(['inbox', 'one', item.id], was => (was ? (merged(was) as Item) : was))
}
