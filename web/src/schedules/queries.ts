import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, type Page, take, takePage } from '../api/client'
import * as clock from '../app/clock'
import { patchRow } from '../app/live/patches'
import type { Job, Run } from './job'
import type { Slot } from './slots'
import { longestSpan, spanOf } from './span'

/** How many slots a row shows. */
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

/** How many slots the ledger answers at once. */
const slotsAtOnce = 500

/**
 * The last slots of a job. How far back fourteen of them reach is guessed; where
 * the guess was too short, as on the first morning after a quiet night, a wider
 * one is tried. The ledger begins with the earliest, so that a full answer may
 * lack the newest: then the narrower one stands.
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

/** More pages than these are not read for a count: then it is "at least". */
const mostPages = 6

/** All slots of the last 24 hours, and whether there are more than were read. */
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
    queryKey: ['schedules', 'runs', id],
    queryFn: ({ pageParam, signal }): Promise<Page<Run>> => {
      const query = { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) }
      return takePage<Run>(api.GET('/api/v1/agentrt/jobs/{id}/runs', { params: { path: { id }, query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: last => last.next,
  })

/** What each job cost in the last 30 days. */
export const costsQuery = queryOptions({
  queryKey: ['schedules', 'costs'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/usage', { params: { query: { group: 'job' } }, signal })),
})

/** How the service sees the job that starts a team's standups. */
export const standupQuery = (team: string) =>
  queryOptions({
    queryKey: ['schedules', 'standup', team],
    queryFn: ({ signal }) => take(api.GET('/api/v1/standups/schedule', { params: { query: { team } }, signal })),
  })

const same = (a: Job, b: Job) => a.id === b.id
const newer = (next: Job, was: Job) => next.as_of >= was.as_of

/** Puts a job that was read into all that is cached; into the list also when it is new there. */
export function putJob(cache: QueryClient, job: Job): void {
  patchRow(cache, jobsQuery.queryKey, job, same, newer)
  cache.setQueryData(jobsQuery.queryKey, was =>
    was && !was.rows.some(j => j.id === job.id) ? { ...was, rows: [...was.rows, job] } : was,
  )
  cache.setQueryData(jobQuery(job.id).queryKey, was => (was && !newer(job, was) ? was : job))
}

/** Takes a job that is gone out of all that is cached. */
export function dropJob(cache: QueryClient, id: string): void {
  cache.setQueryData(jobsQuery.queryKey, was =>
    was?.rows.some(j => j.id === id) ? { ...was, rows: was.rows.filter(j => j.id !== id) } : was,
  )
  void cache.invalidateQueries({ queryKey: jobQuery(id).queryKey })
}
