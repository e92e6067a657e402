import {
  type InfiniteData,
  infiniteQueryOptions,
  type QueryClient,
  queryOptions,
  useInfiniteQuery,
} from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { api, type Page, type Schemas, take, takePage } from '../api/client'
import { eventsAtOnce, eventsQuery } from '../app/events'
import { Latest } from '../app/live/latest'
import { patchRow } from '../app/live/patches'
import { session } from '../app/session'
import { withAwaited } from './pendingChanges'
import { priorities, statuses, type Task, type TaskCard, types } from './task'
import type { Filters } from './taskFilters'

/** Maximum number of tasks to load; filters find the rest. */
const most = 6000
const pageSize = 500

const pick = <T extends string>(list: string | undefined, words: readonly T[]): T[] | undefined =>
  list ? words.filter(w => list.split(',').includes(w)) : undefined

/** The matching tasks, page by page, in board order. */
export const listQuery = (f: Filters) =>
  infiniteQueryOptions({
    queryKey: ['tasks', 'list', f],
    queryFn: ({ pageParam, signal }): Promise<Page<TaskCard>> => {
      const status = pick(f.status, statuses)
      const priority = pick(f.priority, priorities)
      const type = pick(f.type, types)
      const query = {
        limit: pageSize,
        sort: 'position' as const,
        fields: 'card' as const,
        ...(pageParam ? { cursor: pageParam } : {}),
        ...(f.q ? { q: f.q } : {}),
        ...(status ? { status } : {}),
        ...(priority ? { priority } : {}),
        ...(type ? { type } : {}),
        ...(f.assignee ? { assignee: f.assignee } : {}),
        ...(f.project ? { project: f.project } : {}),
        ...(f.tag ? { tag: f.tag.split(',') } : {}),
        ...(f.blocked ? { blocked: f.blocked } : {}),
      }
      return takePage<TaskCard>(api.GET('/api/v1/tasks', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: last => last.next,
  })

/** Returns all matching tasks, loaded page by page. */
export function useTasks(f: Filters) {
  const asked = useInfiniteQuery(listQuery(f))
  const { data, hasNextPage, isFetching, fetchNextPage, error } = asked
  const tasks = useMemo(() => {
    const seen = new Map<string, TaskCard>()
    for (const page of data?.pages ?? []) {
      for (const row of page.rows) {
        const task = latest.of(row)
        if (task) seen.set(task.id, task)
      }
    }
    return data ? [...seen.values()] : undefined
  }, [data])
  const more = hasNextPage && (tasks?.length ?? 0) < most
  useEffect(() => {
    if (more && !isFetching && !error) void fetchNextPage()
  }, [more, isFetching, error, fetchNextPage])
  return { ...asked, tasks, reading: more, cut: hasNextPage && !more }
}

export const oneQuery = (key: string) =>
  queryOptions({
    queryKey: ['tasks', 'one', key],
    queryFn: ({ signal }) => take(api.GET('/api/v1/tasks/{id}', { params: { path: { id: key } }, signal })),
  })

/** All comments. The server lists the oldest first, and the panel shows the newest. */
export const commentsQuery = (key: string) =>
  queryOptions({
    queryKey: ['tasks', 'comments', key],
    queryFn: async ({ signal }): Promise<Schemas['TaskComment'][]> => {
      const all: Schemas['TaskComment'][] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const query = { limit: pageSize, ...(cursor ? { cursor } : {}) }
        const part = await takePage<Schemas['TaskComment']>(
          api.GET('/api/v1/tasks/{id}/comments', { params: { path: { id: key }, query }, signal }),
        )
        all.push(...part.rows)
        cursor = part.next
      }
      return all
    },
  })

export const historyQuery = (key: string) =>
  infiniteQueryOptions({
    queryKey: ['tasks', 'history', key],
    queryFn: ({ pageParam, signal }): Promise<Page<Schemas['Event']>> => {
      const query = { limit: eventsAtOnce, ...(pageParam ? { cursor: pageParam } : {}) }
      return takePage(api.GET('/api/v1/tasks/{id}/history', { params: { path: { id: key }, query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: last => last.next,
  })

/** The reports on a task, and the agents' final answers, from the activity log. */
export const reportsQuery = (id: string) =>
  eventsQuery(['tasks', 'reports', id], {
    subject_kind: 'task',
    subject_id: id,
    kind: ['task.reported', 'task.dispatch_ended'],
  })

export const partsQuery = (key: string) =>
  queryOptions({
    queryKey: ['tasks', 'parts', key],
    queryFn: ({ signal }): Promise<TaskCard[]> => {
      const query = { parent: key, limit: 200, sort: 'position', fields: 'card' } as const
      return take(api.GET('/api/v1/tasks', { params: { query }, signal }))
    },
  })

/** Unfinished and finished tasks that depend on a task. */
export const blocksQuery = (key: string) =>
  queryOptions({
    queryKey: ['tasks', 'parts', 'blocks', key],
    queryFn: ({ signal }): Promise<TaskCard[]> => {
      const query = { depends_on: key, limit: 200, sort: 'position', fields: 'card' } as const
      return take(api.GET('/api/v1/tasks', { params: { query }, signal }))
    },
  })

/** Tasks with a text in their key or title, newest first. */
export const foundQuery = (text: string) =>
  queryOptions({
    queryKey: ['tasks', 'found', text],
    staleTime: 10_000,
    queryFn: ({ signal }): Promise<TaskCard[]> => {
      const query = { q: text.slice(0, 200), limit: 20, fields: 'card' } as const
      return take(api.GET('/api/v1/tasks', { params: { query }, signal }))
    },
  })

export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/projects', { params: { query: { limit: 500 } }, signal })),
})

const same = (a: TaskCard, b: TaskCard) => a.id === b.id
// Claims and counts change without a new version.
const newer = (next: TaskCard, was: TaskCard) => next.version >= was.version
const isWhole = (task: TaskCard | Task): task is Task => 'description' in task

const latest = new Latest<TaskCard>((next, was) => next.version > was.version)
session.onLeave(() => latest.clear())

type List = InfiniteData<Page<TaskCard>>

/** Puts a task into all cached answers, adding it to lists where it is new. */
export function putTask(cache: QueryClient, read: TaskCard | Task): void {
  const task = withAwaited(read)
  latest.put(task)
  patchRow(cache, ['tasks', 'list'], task, same, newer)
  patchRow(cache, ['tasks', 'parts'], task, same, newer)
  cache.setQueriesData<List>({ queryKey: ['tasks', 'list'] }, data => {
    const [firstPage, ...others] = data?.pages ?? []
    if (!data || !firstPage || data.pages.some(p => p.rows.some(t => t.id === task.id))) return data
    return { ...data, pages: [{ ...firstPage, rows: [...firstPage.rows, task] }, ...others] }
  })
  for (const name of [task.key, task.id]) {
    cache.setQueryData<Task>(['tasks', 'one', name], was => {
      if (!was || !newer(task, was)) return was
      if (isWhole(read)) return withAwaited(read)
      // Fields that cards omit are only valid for the version that was read in full.
      return task.version === was.version ? { ...was, ...task } : was
    })
  }
}

/** Removes a deleted task from the cache. */
export function dropTask(cache: QueryClient, id: string): void {
  latest.drop(id)
  cache.setQueriesData<List>({ queryKey: ['tasks', 'list'] }, data =>
    data?.pages.some(p => p.rows.some(t => t.id === id))
      ? { ...data, pages: data.pages.map(p => ({ ...p, rows: p.rows.filter(t => t.id !== id) })) }
      : data,
  )
}
