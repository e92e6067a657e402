import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, nextCursor, type Page, take, takePage } from '../api/client'
import { asProblem, Problem } from '../api/problem'
import { sessions as words } from '../texts/sessions'
import { applyTold, canonical, heard, type Live, liveKey, oneKey, saidKey, told } from './liveSessions'
import { type Archived, isArchiveId, type Session } from './session'
import { addHeard, joinNewest, joinOlder, type Message, type Transcript } from './transcript'

/** Maximum number of live sessions. Filtering more would need server support. */
const most = 3000
const pageSize = 500
const messagesAtOnce = 300
const sharedFor = 5000

export const liveQuery = queryOptions({
  queryKey: liveKey,
  queryFn: async ({ signal }): Promise<Live> => {
    const began = performance.now()
    let rows: Session[] = []
    let cursor: string | null = null
    let more: number | null = 0
    do {
      const query: { limit: number; cursor?: string } = { limit: pageSize, ...(cursor ? { cursor } : {}) }
      const { data, response } = await api.GET('/api/v1/agentrt/sessions', { params: { query }, signal })
      rows.push(...(data ?? []))
      cursor = nextCursor(response)
      more = Number(response.headers.get('X-Left-Out') ?? 0)
    } while (cursor !== null && rows.length < most)
    for (const what of told.since(began)) rows = applyTold(rows, what)
    return { rows, more: cursor === null ? more : null }
  },
})

/** A live session. Its absence is an ordinary answer: a browser would log a 404 as an error of the page. */
export const oneQuery = (key: string) =>
  queryOptions({
    queryKey: oneKey(key),
    queryFn: async ({ signal }): Promise<Session> => {
      const query = { key: canonical(key) }
      const [session] = await take(api.GET('/api/v1/agentrt/sessions', { params: { query }, signal }))
      if (!session) throw new Problem({ status: 404, code: 'session_not_found', title: words.archive.gone })
      return session
    },
  })

export const archivedQuery = (id: string) =>
  queryOptions({
    queryKey: ['sessions', 'archived', id],
    queryFn: ({ signal }) => take(api.GET('/api/v1/sessions/{id}', { params: { path: { id } }, signal })),
  })

/** Reads a page of messages, of a live session by key or an archived one by ID. */
async function readPage(name: string, cursor: string | null, signal?: AbortSignal): Promise<Transcript> {
  const query = { limit: messagesAtOnce, ...(cursor ? { cursor } : {}) }
  const more = signal ? { signal } : {}
  const page = isArchiveId(name)
    ? await takePage<Message>(
        api.GET('/api/v1/sessions/{id}/messages', { params: { path: { id: name }, query }, ...more }),
      )
    : await takePage<Message>(
        api.GET('/api/v1/agentrt/sessions/{key}/messages', {
          params: { path: { key: canonical(name) }, query },
          ...more,
        }),
      )
  return {
    rows: page.rows.filter(m => m.waiting === null),
    waiting: page.rows.filter(m => m.waiting !== null),
    older: page.next,
  }
}

/** The transcript. A refetch loads the newest page and keeps older ones. */
export const saidQuery = (name: string) =>
  queryOptions({
    queryKey: saidKey(name),
    // Pages are joined explicitly; comparing 20,000 rows would cost more than rendering the visible ones.
    structuralSharing: false,
    queryFn: async ({ signal, client }): Promise<Transcript> => {
      const began = performance.now()
      const page = await readPage(name, null, signal)
      const joined = joinNewest(client.getQueryData<Transcript>(saidKey(name)), page)
      // Concurrent requests share a response, which may be slightly older than this request.
      return heard
        .since(began - sharedFor)
        .filter(h => h.key === canonical(name))
        .reduce((now, h) => addHeard(now, h.message), joined)
    },
  })

/** Loads the page before the oldest message. Returns the number of messages. */
export async function readOlder(cache: QueryClient, name: string): Promise<void> {
  const key = saidKey(name)
  const cursor = cache.getQueryData<Transcript>(key)?.older
  if (!cursor) return
  try {
    const page = await readPage(name, cursor)
    cache.setQueryData<Transcript>(key, was => (was?.older === cursor ? joinOlder(was, page) : was))
  } catch (err) {
    const { status } = asProblem(err)
    // The session was reset since: the cached transcript belongs to the old one.
    if (status === 400 || status === 422) await cache.resetQueries({ queryKey: key })
    else throw err
  }
}

export interface ArchiveFilters {
  q?: string | undefined
  agent?: string | undefined
  kind?: string | undefined
  status?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

/** Returns the start of a day in the local time zone, or of a later day. */
const dayStart = (day: string, later = 0): string => {
  const [y = 0, m = 1, d = 1] = day.split('-').map(Number)
  return new Date(y, m - 1, d + later).toISOString()
}

export const historyQuery = (f: ArchiveFilters) =>
  infiniteQueryOptions({
    queryKey: ['sessions', 'archive', f],
    queryFn: ({ pageParam, signal }): Promise<Page<Archived>> => {
      const query = {
        limit: 100,
        ...(pageParam ? { cursor: pageParam } : {}),
        ...(f.q ? { q: f.q } : {}),
        ...(f.agent ? { agent_id: f.agent } : {}),
        ...(f.kind ? { kind: f.kind } : {}),
        ...(f.status ? { status: f.status } : {}),
        ...(f.from ? { from: dayStart(f.from) } : {}),
        ...(f.to ? { to: dayStart(f.to, 1) } : {}),
      }
      return takePage<Archived>(api.GET('/api/v1/sessions', { params: { query }, signal }))
    },
    staleTime: 0,
    initialPageParam: null as string | null,
    getNextPageParam: last => last.next,
  })

/** The sessions at the last contact, for when the gateway is offline. */
export const knownQuery = queryOptions({
  queryKey: ['sessions', 'known'],
  queryFn: ({ signal }) =>
    takePage<Archived>(api.GET('/api/v1/sessions', { params: { query: { last_known: true, limit: 500 } }, signal })),
})

/** The archived sessions of a key, found by full-text search. */
export const versionsQuery = (key: string) =>
  queryOptions({
    queryKey: ['sessions', 'versions', canonical(key)],
    queryFn: async ({ signal }) => {
      const query = { q: canonical(key).slice(0, 200), limit: 50 }
      const page = await takePage<Archived>(api.GET('/api/v1/sessions', { params: { query }, signal }))
      return page.rows.filter(a => canonical(a.key) === canonical(key))
    },
  })

/** The names of the jobs by ID. */
export const jobNamesQuery = queryOptions({
  queryKey: ['sessions', 'jobs'],
  queryFn: async ({ signal }) => {
    const page = await takePage(api.GET('/api/v1/agentrt/jobs', { params: { query: { limit: 500 } }, signal }))
    return new Map(page.rows.map(j => [canonical(j.id), j.name]))
  },
})
