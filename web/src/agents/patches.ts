import type { QueryClient } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { type Patch, rereadSoon } from '../app/live/patches'
import type { Agent, AgentDetails, AgentSession } from './agent'

/** Minimum time between refetches of totals (tasks, spend, failures), in ms. */
const calm = 2000
let waiting = false

function rereadTotals(cache: QueryClient): void {
  if (waiting) return
  waiting = true
  setTimeout(() => {
    waiting = false
    void cache.invalidateQueries({ queryKey: ['agents', 'one'] })
    void cache.invalidateQueries({ queryKey: ['agents', 'summaries'] })
  }, calm)
}

type Session = Schemas['Session']

const isSession = (v: unknown): v is Session =>
  typeof v === 'object' && v !== null && 'key' in v && 'agent_id' in v && 'active' in v

/** The part of a session that affects the agent's presence. */
const standing = (s: Pick<Session, 'active' | 'active_run_id' | 'stalled'>): string =>
  `${s.active} ${s.active_run_id ?? ''} ${s.stalled}`

const known = new Map<string, string>()

/** Updates a session in the cached answers about its agent. */
function putSession(cache: QueryClient, s: Session): void {
  const { key, label, active, status, cost_usd, last_message, last_message_by, updated_at } = s
  const next = (was: AgentSession): AgentSession =>
    was.key === key ? { ...was, label, active, status, cost_usd, last_message, last_message_by, updated_at } : was
  cache.setQueryData<AgentDetails>(['agents', 'one', s.agent_id], was =>
    was?.sessions?.some(o => o.key === key) ? { ...was, sessions: was.sessions.map(next) } : was,
  )
  cache.setQueryData<Agent[]>(['agents', 'summaries'], was =>
    was?.map(a =>
      a.summary?.session?.key === key ? { ...a, summary: { ...a.summary, session: next(a.summary.session) } } : a,
    ),
  )
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
      rereadSoon(cache, ['agents', 'summaries'])
      rereadSoon(cache, ['agents', 'one', data.agent_id])
    },
  },
  {
    on: ['session.gone'],
    apply: ({ data }, cache) => {
      if (typeof data !== 'object' || data === null || !('key' in data) || typeof data.key !== 'string') return
      known.delete(data.key)
      rereadSoon(cache, ['agents', 'list'])
      rereadTotals(cache)
    },
  },
  {
    on: ['agentrt.status'],
    apply: (_, cache) => {
      known.clear()
      rereadSoon(cache, ['agents', 'one'])
      rereadSoon(cache, ['agents', 'summaries'])
    },
  },
  // `hello` starts each stream. Events before it may have been missed.
  {
    on: ['task.', 'standup.', 'jobs.changed', 'user.', 'usage.grown', 'hello'],
    apply: (_, cache) => rereadTotals(cache),
  },
  {
    on: ['agent.'],
    apply: (_, cache) => {
      rereadSoon(cache, ['agents', 'list'])
      rereadSoon(cache, ['agents', 'summaries'])
      rereadSoon(cache, ['agents', 'one'])
    },
  },
  { on: ['team.'], apply: (_, cache) => rereadSoon(cache, ['agents', 'teams']) },
]
