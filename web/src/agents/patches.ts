import type { QueryClient } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { type Patch, rereadSoon } from '../app/live/patches'
import type { AgentDetails } from './agent'

/** Minimum time between refetches of an agent's totals (tasks, spend, failures), in ms. */
const calm = 2000
let waiting = false

function rereadPages(cache: QueryClient): void {
  if (waiting) return
  waiting = true
  setTimeout(() => {
    waiting = false
    void cache.invalidateQueries({ queryKey: ['agents', 'one'] })
  }, calm)
}

type Session = Schemas['Session']

const isSession = (v: unknown): v is Session =>
  typeof v === 'object' && v !== null && 'key' in v && 'agent_id' in v && 'active' in v

/** The part of a session that affects the agent's presence. */
const standing = (s: Pick<Session, 'active' | 'active_run_id' | 'stalled'>): string =>
  `${s.active} ${s.active_run_id ?? ''} ${s.stalled}`

const known = new Map<string, string>()

/** Updates a session in the cached page of its agent. */
function putSession(cache: QueryClient, s: Session): void {
  cache.setQueryData<AgentDetails>(['agents', 'one', s.agent_id], was => {
    if (!was?.sessions?.some(o => o.key === s.key)) return was
    const { key, kind, label, active, status, cost_usd, last_message, updated_at } = s
    const row = { key, kind, label, active, status, cost_usd, last_message, updated_at }
    return { ...was, sessions: was.sessions.map(o => (o.key === key ? row : o)) }
  })
}

/**
 * Presence has no events of its own. It is refetched when a session becomes active, idle, or stalled, not with every
 * frame.
 */
export const agentPatches: readonly Patch[] = [
  {
    on: ['session.changed'],
    apply: ({ data }, cache) => {
      if (!isSession(data) || data.agent_id === '') return
      putSession(cache, data)
      const now = standing(data)
      if (known.get(data.key) === now) return
      known.set(data.key, now)
      rereadSoon(cache, ['agents', 'list'])
      rereadSoon(cache, ['agents', 'one', data.agent_id])
    },
  },
  {
    on: ['session.gone'],
    apply: ({ data }, cache) => {
      if (typeof data !== 'object' || data === null || !('key' in data) || typeof data.key !== 'string') return
      known.delete(data.key)
      rereadSoon(cache, ['agents', 'list'])
      rereadPages(cache)
    },
  },
  {
    on: ['agentrt.status'],
    apply: (_, cache) => {
      known.clear()
      rereadSoon(cache, ['agents', 'one'])
    },
  },
  { on: ['task.', 'standup.', 'jobs.changed', 'user.'], apply: (_, cache) => rereadPages(cache) },
  { on: ['team.'], apply: (_, cache) => rereadSoon(cache, ['agents', 'teams']) },
  {
    // `hello` starts each stream. Events before it may have been missed.
    on: ['usage.grown', 'hello'],
    apply: (_, cache) => {
      rereadPages(cache)
      // Refetches only the latest day. Earlier days change only through ledger adjustments, which can wait.
      const latest = cache
        .getQueryCache()
        .findAll({ queryKey: ['agents', 'spend'] })
        .map(q => q.queryKey)
        .sort((a, b) => String(a[2]).localeCompare(String(b[2])))
        .at(-1)
      if (latest) rereadSoon(cache, latest)
    },
  },
]
