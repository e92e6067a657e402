import type { QueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { Problem } from '../api/problem'
import { eventOf, gathered, type Patch, rereadSoon } from '../app/live/patches'
import { dropJob, jobsQuery, putJob } from './queries'

/** From this many changed jobs on, refetching the list is cheaper. */
const many = 20

let cacheOf: QueryClient | null = null

const readAnew = gathered(ids => {
  const cache = cacheOf
  if (!cache) return
  if (ids.length > many) return rereadSoon(cache, jobsQuery.queryKey)
  for (const id of ids) {
    take(api.GET('/api/v1/agentrt/jobs/{id}', { params: { path: { id } } })).then(
      job => putJob(cache, job),
      err => {
        if (err instanceof Problem && err.status === 404) dropJob(cache, id)
      },
    )
  }
})

const ids = (v: unknown): string[] => (Array.isArray(v) ? v.filter(id => typeof id === 'string') : [])

/** Refetches the slots of a job, which each change may affect. */
function rereadLedger(cache: QueryClient, id: string): void {
  rereadSoon(cache, ['schedules', 'slots', id])
  rereadSoon(cache, ['schedules', 'runs', id])
  rereadSoon(cache, ['schedules', 'last', id])
  rereadSoon(cache, ['schedules', 'day'])
}

/** Events name the changed jobs, which are then refetched. */
export const schedulePatches: readonly Patch[] = [
  {
    on: ['jobs.changed'],
    apply: ({ data }, cache) => {
      if (typeof data !== 'object' || data === null) return
      cacheOf = cache
      const { changed, gone } = data as { changed?: unknown; gone?: unknown }
      const shown = cache.getQueryCache().findAll({ queryKey: ['schedules'] }).length > 0
      if (!shown) return
      for (const id of ids(changed)) {
        readAnew(id)
        rereadLedger(cache, id)
      }
      for (const id of ids(gone)) {
        dropJob(cache, id)
        rereadLedger(cache, id)
      }
      rereadSoon(cache, ['schedules', 'standup'])
    },
  },
  {
    // A missed slot changes no job, but raises an inbox item.
    on: ['inbox.'],
    apply: (happened, cache) => {
      const data: unknown = eventOf(happened)?.data
      const item = typeof data === 'object' && data !== null && 'item' in data ? data.item : null
      const kind = typeof item === 'object' && item !== null && 'kind' in item ? String(item.kind) : ''
      if (!kind.startsWith('job_')) return
      rereadSoon(cache, ['schedules', 'slots'])
      rereadSoon(cache, ['schedules', 'day'])
    },
  },
  {
    on: ['agentrt.status'],
    apply: (_, cache) => {
      rereadSoon(cache, jobsQuery.queryKey)
      rereadSoon(cache, ['schedules', 'one'])
      rereadSoon(cache, ['schedules', 'runs'])
      rereadSoon(cache, ['schedules', 'last'])
    },
  },
  {
    on: ['usage.grown', 'hello'],
    apply: (_, cache) => {
      rereadSoon(cache, ['schedules', 'costs'])
      rereadSoon(cache, ['schedules', 'runs'])
    },
  },
  {
    // Changes during a disconnect are not sent again.
    on: ['hello'],
    apply: (_, cache) => {
      rereadSoon(cache, ['schedules', 'slots'])
      rereadSoon(cache, ['schedules', 'day'])
    },
  },
]
