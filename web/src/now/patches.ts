import type { Schemas } from '../api/client'
import { eventOf, type Patch, rereadSoon } from '../app/live/patches'
import { queries } from '../app/queries'
import { canonical, type Live, liveKey } from '../sessions/liveSessions'
import { activityKinds } from './activityKinds'

/** Keeps the cards current; each has its own query. The patches of the sessions come after these. */
export const nowPatches: readonly Patch[] = [
  {
    // Presence has no events of its own, so it is refetched when a run starts or ends.
    on: ['session.changed', 'session.gone'],
    apply: ({ data }, cache) => {
      const { key = '', active = false } = (data ?? {}) as { key?: string; active?: boolean }
      const live = cache.getQueryData<Live>(liveKey)
      const was = live?.rows.find(s => s.key === canonical(key))?.active ?? false
      if (live && active !== was) rereadSoon(cache, queries.agents.queryKey)
    },
  },
  {
    // A raised or resolved item also tells how a job ended.
    on: [
      ...['agentrt.status', 'jobs.changed', 'slot.', 'schedule.'],
      ...['inbox.raised', 'inbox.repeated', 'inbox.reopened', 'inbox.resolved'],
    ],
    apply: (_, cache) => rereadSoon(cache, ['now', 'slots']),
  },
  { on: ['standup.'], apply: (_, cache) => rereadSoon(cache, ['now', 'standup']) },
  { on: ['task.'], apply: (_, cache) => rereadSoon(cache, ['now', 'blocked']) },
  {
    on: activityKinds,
    apply: (happened, cache) => {
      const event = eventOf(happened)
      if (!event) return
      cache.setQueryData<Schemas['Event'][]>(['now', 'activity'], known =>
        known && !known.some(e => e.id === event.id) ? [event, ...known].slice(0, 50) : known,
      )
    },
  },
]
