import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, newKey, take } from '../api/client'
import { asProblem, type Problem } from '../api/problem'
import { rereadSoon } from '../app/live/patches'
import { canonical, oneKey, saidKey } from './liveSessions'
import type { Message } from './transcript'

/** A message that this tab sends to an agent. */
export interface Outgoing {
  /** The idempotency key. A retry repeats it, so that the agent gets the message once. */
  id: string
  text: string
  sender: string
  at: string
  state: 'sending' | 'sent' | 'failed'
  /** The ID that the message has in the runtime; null until it is sent. */
  runId: string | null
  problem: Problem | null
}

/** The messages of this tab to a session that the transcript doesn't contain yet. */
export interface Outbox {
  list: readonly Outgoing[]
  /** Sends a message. Returns the problem, or null. A text that the server rejects is not kept. */
  send: (text: string, sender: string, notBefore: string | null) => Promise<Problem | null>
  again: (id: string) => void
  discard: (ids: readonly string[]) => void
}

const outKey = (key: string) => ['sessions', 'out', canonical(key)] as const

/** Nothing is fetched: the cache keeps the list until the user signs out. */
const outQuery = (key: string) =>
  queryOptions({
    queryKey: outKey(key),
    queryFn: ({ client }): Outgoing[] => client.getQueryData(outKey(key)) ?? [],
    initialData: [] as Outgoing[],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  })

/** Returns the agent whose main session has the key. */
export const mainAgentOf = (key: string): string | undefined => /^agent:([^:]+):main$/i.exec(key)?.[1]

/** Returns the key of an agent's main session. */
export const mainKey = (agentId: string): string => `agent:${canonical(agentId)}:main`

function post(key: string, { id, text }: Outgoing) {
  const header = { 'Idempotency-Key': id }
  const agent = mainAgentOf(key)
  if (agent) {
    const params = { path: { agent_id: agent }, header }
    return take(api.POST('/api/v1/agents/{agent_id}/messages', { params, body: { text } }))
  }
  const params = { path: { key: canonical(key) }, header }
  return take(api.POST('/api/v1/agentrt/sessions/{key}/messages', { params, body: { text } }))
}

const change = (cache: QueryClient, key: string, f: (list: Outgoing[]) => Outgoing[]) =>
  cache.setQueryData<Outgoing[]>(outKey(key), was => f(was ?? []))

async function deliver(cache: QueryClient, key: string, out: Outgoing): Promise<Problem | null> {
  const put = (next: Partial<Outgoing>) =>
    change(cache, key, list => list.map(o => (o.id === out.id ? { ...o, ...next } : o)))
  put({ state: 'sending', problem: null })
  try {
    const { run_id } = await post(key, out)
    put({ state: 'sent', runId: run_id })
    rereadSoon(cache, saidKey(key))
    if (cache.getQueryState(oneKey(key))?.status === 'error') rereadSoon(cache, oneKey(key))
    return null
  } catch (err) {
    const problem = asProblem(err)
    if (problem.of('text')) change(cache, key, list => list.filter(o => o.id !== out.id))
    else put({ state: 'failed', problem })
    return problem
  }
}

export function useOutbox(key: string): Outbox {
  const cache = useQueryClient()
  const list = useQuery(outQuery(key)).data
  return useMemo(
    () => ({
      list,
      send: (text, sender, notBefore) => {
        const now = new Date().toISOString()
        // The browser's clock may be behind.
        const at = notBefore && Date.parse(notBefore) > Date.parse(now) ? notBefore : now
        const out: Outgoing = { id: newKey(), text, sender, at, state: 'sending', runId: null, problem: null }
        change(cache, key, was => [...was, out])
        return deliver(cache, key, out)
      },
      again: id => {
        const out = list.find(o => o.id === id)
        if (out) void deliver(cache, key, out)
      },
      discard: ids => change(cache, key, was => was.filter(o => !ids.includes(o.id))),
    }),
    [cache, key, list],
  )
}

const textOf = (m: Message): string => m.blocks.find(b => b.type === 'text')?.text?.trim() ?? ''

/** Returns whether the transcript's message is the sent one. The message can arrive before the server's response. */
export const isSame = (m: Message, out: Outgoing): boolean =>
  m.role === 'user' &&
  (out.runId !== null
    ? m.run_id === out.runId
    : out.state === 'sending' && m.sender === null && !!m.run_id?.startsWith('wardroom-') && textOf(m) === out.text)
