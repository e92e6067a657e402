import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { patchRow } from '../app/live/patches'
import type { StandupSearch } from './search'
import type { Brief, Standup } from './standup'

/** The default team. */
export const executive = 'executive'

/** The search parameters for a team's day, or its latest standup. */
export const dayAddress = (team: string, day?: string): StandupSearch => ({
  team: team === executive ? undefined : team,
  day,
})

export const teamsQuery = queryOptions({
  queryKey: ['standups', 'teams'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/teams', { params: { query: { limit: 500 } }, signal })),
})

export const oneQuery = (id: string) =>
  queryOptions({
    queryKey: ['standups', 'one', id],
    queryFn: ({ signal }) => take(api.GET('/api/v1/standups/{id}', { params: { path: { id } }, signal })),
  })

/** The standups of a team between two days, inclusive. */
export const listQuery = (team: string, from: string, to: string) =>
  queryOptions({
    queryKey: ['standups', 'list', team, from, to],
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/standups', { params: { query: { team, from, to, limit: 500 } }, signal })),
  })

/** The latest standup of a team up to a day, or null. */
export const latestQuery = (team: string, to: string) =>
  queryOptions({
    queryKey: ['standups', 'latest', team, to],
    queryFn: async ({ signal }): Promise<Brief | null> => {
      const rows = await take(api.GET('/api/v1/standups', { params: { query: { team, to, limit: 1 } }, signal }))
      return rows[0] ?? null
    },
  })

/** The first standup of a team from a day on, or null. */
export const nextQuery = (team: string, from: string) =>
  queryOptions({
    queryKey: ['standups', 'next', team, from],
    queryFn: async ({ signal }): Promise<Brief | null> => {
      const query = { team, from, sort: 'date' as const, limit: 1 }
      const rows = await take(api.GET('/api/v1/standups', { params: { query }, signal }))
      return rows[0] ?? null
    },
  })

/** Returns the name of a team's standup job. */
const jobOf = (team: string): string => (team === executive ? 'daily-standup' : `daily-standup-${team}`)

/**
 * The schedule of a team's standups, or null. Checks the job list first, so that a missing job doesn't show as a failed
 * request in the console.
 */
export const scheduleQuery = (team: string) =>
  queryOptions({
    queryKey: ['standups', 'schedule', team],
    queryFn: async ({ signal }) => {
      const jobs = await take(api.GET('/api/v1/agentrt/jobs', { params: { query: { limit: 500 } }, signal }))
      if (!jobs.some(j => j.name === jobOf(team))) return null
      return take(api.GET('/api/v1/standups/schedule', { params: { query: { team } }, signal }))
    },
    retry: false,
  })

export const transcriptOf = (id: string): Promise<string> =>
  take(api.GET('/api/v1/standups/{id}/transcript', { params: { path: { id } }, parseAs: 'text' }))

const same = (a: Brief, b: Brief) => a.id === b.id
const newer = (next: { version: number }, was: { version: number }) => next.version >= was.version

/** Puts a standup into all cached answers. */
export function putStandup(cache: QueryClient, s: Standup): void {
  cache.setQueryData<Standup>(['standups', 'one', s.id], was => (was && !newer(s, was) ? was : s))
  patchRow<Brief>(cache, ['standups', 'list', s.team], s, same, newer)
  for (const [key, rows] of cache.getQueriesData<Brief[]>({ queryKey: ['standups', 'list', s.team] })) {
    const [from, to] = [String(key[3]), String(key[4])]
    if (rows && s.date >= from && s.date <= to && !rows.some(r => r.id === s.id)) {
      cache.setQueryData<Brief[]>(
        key,
        [s, ...rows].sort((a, b) => (a.date < b.date ? 1 : -1)),
      )
    }
  }
  for (const [key, was] of cache.getQueriesData<Brief | null>({ queryKey: ['standups', 'latest', s.team] })) {
    if (was === undefined || s.date > String(key[3])) continue
    if (was === null || s.date > was.date || (same(s, was) && newer(s, was))) cache.setQueryData<Brief>(key, s)
  }
}

/** Removes a deleted standup from the cache. */
export function dropStandup(cache: QueryClient, id: string): void {
  cache.removeQueries({ queryKey: ['standups', 'one', id] })
  cache.setQueriesData<Brief[]>({ queryKey: ['standups', 'list'] }, rows => rows?.filter(r => r.id !== id))
  void cache.invalidateQueries({ queryKey: ['standups', 'latest'] })
  void cache.invalidateQueries({ queryKey: ['standups', 'next'] })
}
