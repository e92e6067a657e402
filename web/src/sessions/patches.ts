import type { Schemas } from '../api/client'
import { eventOf, type Patch, rereadSoon } from '../app/live/patches'
import {
  applyTold,
  canonical,
  heard,
  type Live,
  liveKey,
  oneKey,
  type SessionEvent,
  saidKey,
  told,
} from './liveSessions'
import type { Session } from './session'
import { addHeard, type Transcript } from './transcript'

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null
const keyOf = (v: unknown): string | null => (isObject(v) && typeof v.key === 'string' ? v.key : null)

/** Frames contain the whole session row, or a message of a followed session. */
export const sessionPatches: readonly Patch[] = [
  {
    on: ['session.changed', 'session.gone'],
    apply: ({ kind, data }, cache) => {
      const key = keyOf(data)
      if (key === null) return
      const what: SessionEvent = kind === 'session.gone' ? { gone: key } : { row: data as Session }
      told.note(what)
      cache.setQueryData<Live>(liveKey, was => {
        const rows = was && applyTold(was.rows, what)
        return was && rows && rows !== was.rows ? { ...was, rows } : was
      })
      if ('row' in what)
        cache.setQueryData<Session>(oneKey(key), was => (was && was.as_of <= what.row.as_of ? what.row : was))
      // A stopped session drops the messages that its agent hasn't read.
      if ('row' in what && !what.row.active && cache.getQueryData<Transcript>(saidKey(key))?.waiting.length)
        rereadSoon(cache, saidKey(key))
      // Refetches, so that the server reports whether the session exists.
      if ('gone' in what || cache.getQueryState(oneKey(key))?.status === 'error') rereadSoon(cache, oneKey(key))
    },
  },
  {
    on: ['session.message'],
    apply: ({ data }, cache) => {
      const key = keyOf(data)
      if (key === null) return
      const { message, missed } = data as { message: Schemas['TranscriptMessage'] | null; missed: boolean }
      if (message) {
        heard.note({ key: canonical(key), message })
        cache.setQueryData<Transcript>(saidKey(key), was => was && addHeard(was, message))
      }
      if (missed) rereadSoon(cache, saidKey(key))
    },
  },
  {
    // Says who sent a message; the transcript then has the name, also while the message waits.
    on: ['session.message_sent'],
    apply: (happened, cache) => {
      const event = eventOf(happened)
      if (event) rereadSoon(cache, saidKey(event.subject.id))
    },
  },
  {
    // Also at the start of each stream, because events in between are not sent again.
    on: ['agentrt.status'],
    apply: (_, cache) => {
      for (const part of ['live', 'one', 'said', 'known']) rereadSoon(cache, ['sessions', part])
    },
  },
  // Job runs are named after their jobs.
  { on: ['jobs.changed', 'agentrt.status'], apply: (_, cache) => rereadSoon(cache, ['sessions', 'jobs']) },
]
