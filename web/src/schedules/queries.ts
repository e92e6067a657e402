import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, type Page, take, takePage } from '../api/client'
import * as clock from '../app/clock'
import { patchRow } from '../app/live/patches'
import type { Job, Run } from './job'
import type { Slot } from './slots'
import { longestSpan, spanOf } from './span'

/** Number of slots in a row. */
export const shownSlots = 14

export const jobsQuery = queryOptions({
  queryKey: ['schedules', 'jobs'],
  queryFn: ({ signal }): Promise<Page<Job>> =>
    takePage<Job>(api.GET('/api/v1/agentrt/jobs', { params: { query: { limit: 500 } }, signal })),
})

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ['schedules', 'one', id],
    queryFn: ({ signal }) => take(api.GET('/api/v1/agentrt/jobs/{id}', { params: { path: { id } }, signal })),
  })

const iso = (ms: number) => new Date(ms).toISOString()

/** Page size of the slots. */
const slotsAtOnce = 500

/**
 * Reads the latest slots of a job. The time span is a guess; if it has too few slots, such as after a quiet night, a
 * wider span is tried. Pages start with the oldest slot, so a full page may lack the newest; then the narrower answer
 * is kept.
 */
async function readSlots(job: Pick<Job, 'id' | 'next_runs' | 'watched_from'>, signal: AbortSignal): Promise<Slot[]> {
  const now = clock.now()
  let slots: Slot[] = []
  let span = spanOf(job.next_runs, shownSlots)
  for (;;) {
    const query = { from: iso(now - span), to: iso(now), limit: slotsAtOnce }
    const read = await take(
      api.GET('/api/v1/agentrt/jobs/{id}/slots', { params: { path: { id: job.id }, query }, signal }),
    )
    if (read.length >= slotsAtOnce && slots.length > 0) return slots
    slots = read
    if (slots.length >= shownSlots || span >= longestSpan || now - span <= Date.parse(job.watched_from)) return slots
    span = Math.min(longestSpan, span * 16)
  }
}

export const slotsQuery = (job: Pick<Job, 'id' | 'next_runs' | 'watched_from'>) =>
  queryOptions({
    queryKey: ['schedules', 'slots', job.id],
    queryFn: ({ signal }) => readSlots(job, signal),
  })

/** Maximum number of pages to count. Beyond that the count is "at least". */
const mostPages = 6

/** All slots of the last 24 hours, and whether there are more. */
export const dayQuery = queryOptions({
  queryKey: ['schedules', 'day'],
  queryFn: async ({ signal }): Promise<{ slots: Slot[]; more: boolean }> => {
    const now = clock.now()
    const span = { from: iso(now - 86_400_000), to: iso(now), limit: 500 }
    const slots: Slot[] = []
    let cursor: string | null = null
    for (let i = 0; i < mostPages; i++) {
      const page: Page<Slot> = await takePage<Slot>(
        api.GET('/api/v1/agentrt/slots', { params: { query: { ...span, ...(cursor ? { cursor } : {}) } }, signal }),
      )
      slots.push(...page.rows)
      cursor = page.next
      if (!cursor) break
    }
    return { slots, more: cursor !== null }
  },
})

export const runsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['schedules', 'runs', id, 'all'],
    queryFn: ({ pageParam, signal }): Promise<Page<Run>> => {
      const query = { limit: 20, ...(pageParam ? { cursor: pageParam } : {}) }
      return takePage<Run>(api.GET('/api/v1/agentrt/jobs/{id}/runs', { params: { path: { id }, query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: last => last.next,
  })

/** The latest run of a job, or null. */
export const lastRunQuery = (id: string) =>
  queryOptions({
    queryKey: ['schedules', 'last', id],
    queryFn: async ({ signal }): Promise<Run | null> => {
      const params = { path: { id }, query: { limit: 1 } }
      return (await takePage<Run>(api.GET('/api/v1/agentrt/jobs/{id}/runs', { params, signal }))).rows[0] ?? null
    },
  })

/** The next times of an expression, or why it is invalid. Waits until typing pauses. */
export const previewQuery = (expr: string, tz: string) =>
  queryOptions({
    queryKey: ['schedules', 'preview', expr, tz],
    queryFn: async ({ signal }) => {
      await new Promise(done => setTimeout(done, 150))
      signal.throwIfAborted()
      const query = { expr, ...(tz ? { tz } : {}) }
      return take(api.GET('/api/v1/agentrt/next-runs', { params: { query }, signal }))
    },
    enabled: expr.trim() !== '',
    placeholderData: was => was,
  })

/** The cost of each job in the last 30 days. */
export const costsQuery = queryOptions({
  queryKey: ['schedules', 'costs', 'jobs'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/usage', { params: { query: { group: 'job' } }, signal })),
})

/** The job that starts a team's standups. */
export const standupQuery = (team: string) =>
  queryOptions({
    queryKey: ['schedules', 'standup', team],
    queryFn: ({ signal }) => take(api.GET('/api/v1/standups/schedule', { params: { query: { team } }, signal })),
  })

const same = (a: Job, b: Job) => a.id === b.id
const newer = (next: Job, was: Job) => next.as_of >= was.as_of

/** Puts a job into all cached answers, adding it to the list if it is new. */
export function putJob(cache: QueryClient, job: Job): void {
  patchRow(cache, jobsQuery.queryKey, job, same, newer)
  cache.setQueryData(jobsQuery.queryKey, was =>
    was && !was.rows.some(j => j.id === job.id) ? { ...was, rows: [...was.rows, job] } : was,
  )
  cache.setQueryData(jobQuery(job.id).queryKey, was => (was && !newer(job, was) ? was : job))
}

/** Removes a deleted job from the cache. */
export function dropJob(cache: QueryClient, id: string): void {
  cache.setQueryData(jobsQuery.queryKey, was =>
    was?.rows.some(j => j.id === id) ? { ...was, rows: was.rows.filter(j => j.id !== id) } : was,
  )
  void cache.invalidateQueries({ queryKey: jobQuery(id).queryKey })
}
