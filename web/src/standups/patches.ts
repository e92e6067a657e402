import type { QueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { Problem } from '../api/problem'
import { eventOf, gathered, type Patch, rereadSoon } from '../app/live/patches'
import { dropStandup, putStandup } from './queries'

let cacheOf: QueryClient | null = null

const readAnew = gathered(ids => {
  const cache = cacheOf
  if (!cache) return
  for (const id of ids) {
    take(api.GET('/api/v1/standups/{id}', { params: { path: { id } } })).then(
      s => putStandup(cache, s),
      err => {
        if (err instanceof Problem && err.status === 404) dropStandup(cache, id)
        else rereadSoon(cache, ['standups', 'one', id])
      },
    )
  }
})

const isShown = (cache: QueryClient): boolean =>
  cache.getQueryCache().find({ queryKey: ['standups'], exact: false }) !== undefined

/** Events name the changed standup, which is then refetched. */
export const standupPatches: readonly Patch[] = [
  {
    on: ['standup.'],
    apply: (happened, cache) => {
      const event = eventOf(happened)
      if (event?.subject.kind !== 'standup' || !isShown(cache)) return
      cacheOf = cache
      if (event.kind === 'standup.deleted') return dropStandup(cache, event.subject.id)
      readAnew(event.subject.id)
      if (event.kind === 'standup.opened') rereadSoon(cache, ['standups', 'next'])
      // The status of a blocker also appears in earlier standups.
      if (event.kind === 'standup.blocker_ended') rereadSoon(cache, ['standups', 'one'])
    },
  },
  { on: ['team.'], apply: (_, cache) => rereadSoon(cache, ['standups', 'teams']) },
  { on: ['schedule.'], apply: (_, cache) => rereadSoon(cache, ['standups', 'schedule']) },
  {
    // Pauses due to an offline gateway have no event of their own.
    on: ['agentrt.status'],
    apply: (_, cache) => {
      rereadSoon(cache, ['standups', 'schedule'])
      rereadSoon(cache, ['standups', 'one'])
    },
  },
]
