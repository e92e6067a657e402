import type { QueryClient } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { eventOf, type Patch, rereadSoon } from '../app/live/patches'
import { queries } from '../app/queries'
import { toldOf } from '../inbox/patches'
import { activityKinds } from './activityKinds'
import { turning } from './failures'

type Session = Schemas['Session']
type Failures = { events: Schemas['Event'][]; cut: boolean }

const sessionsKey = ['now', 'sessions']

/** Updates a session in the cache, unless the cached one is newer. */
function putSession(cache: QueryClient, session: Session): void {
  const known = cache.getQueryData<Session[]>(sessionsKey)
  if (!known) return
  const was = known.find(s => s.key === session.key)
  if (was && was.as_of > session.as_of) return
  cache.setQueryData(sessionsKey, was ? known.map(s => (s === was ? session : s)) : [...known, session])
  // Presence has no events of its own, so it is refetched when a run starts or ends.
  if (session.active !== (was?.active ?? false)) rereadSoon(cache, queries.agents.queryKey)
}

const isSession = (v: unknown): v is Session =>
  typeof v === 'object' && v !== null && 'key' in v && 'active' in v && 'as_of' in v

/** Keeps the cards current; each has its own query. */
export const nowPatches: readonly Patch[] = [
  { on: ['session.changed'], apply: ({ data }, cache) => isSession(data) && putSession(cache, data) },
  {
    on: ['session.gone'],
    apply: ({ data }, cache) => {
      const key = (data as { key?: unknown } | null)?.key
      cache.setQueryData<Session[]>(sessionsKey, known => known?.filter(s => s.key !== key))
      rereadSoon(cache, queries.agents.queryKey)
    },
  },
  {
    on: ['agentrt.status'],
    apply: (_, cache) => {
      rereadSoon(cache, sessionsKey)
      rereadSoon(cache, ['now', 'slots'])
    },
  },
  // A raised or resolved item also tells how a job ended.
  {
    on: ['jobs.changed', 'slot.', 'schedule.', 'inbox.raised', 'inbox.repeated', 'inbox.reopened', 'inbox.resolved'],
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
  {
    on: ['inbox.'],
    apply: (happened, cache) => {
      const event = toldOf(happened)?.event
      if (!event || !turning.includes(event.kind)) return
      cache.setQueryData<Failures>(['now', 'failures'], known =>
        known && !known.events.some(e => e.id === event.id) ? { ...known, events: [event, ...known.events] } : known,
      )
    },
  },
]
