import { type QueryClient, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, type Schemas, take } from '../api/client'
import type { Patch } from './live/patches'
import { eventOf, rereadSoon } from './live/patches'
import { known } from './prefetch'

type Asked = { signal: AbortSignal }

/** Queries that several pages use. */
export const queries = {
  me: {
    queryKey: ['me'],
    queryFn: ({ signal }: Asked) => take(api.GET('/api/v1/auth/me', { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  },
  agents: {
    queryKey: ['agents', 'list'],
    queryFn: ({ signal }: Asked) => take(api.GET('/api/v1/agents', { signal })),
    staleTime: 30_000,
  },
  people: {
    queryKey: ['users', 'names'],
    queryFn: ({ signal }: Asked) => take(api.GET('/api/v1/people', { params: { query: { limit: 500 } }, signal })),
    staleTime: 300_000,
  },
  users: {
    queryKey: ['users', 'list'],
    queryFn: ({ signal }: Asked) => take(api.GET('/api/v1/users', { params: { query: { limit: 500 } }, signal })),
    staleTime: 300_000,
  },
  gateway: {
    queryKey: ['gateway', 'status'],
    queryFn: ({ signal }: Asked) => take(api.GET('/api/v1/agentrt/status', { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  },
} as const

/** Returns whether the gateway is connected, as far as this tab has loaded it. */
export const isConnected = (cache: QueryClient): boolean =>
  cache.getQueryData<Schemas['GatewayStatus']>(queries.gateway.queryKey)?.state === 'connected'

export const useMe = () => useQuery(queries.me)

/**
 * Returns whether the user is the owner or an admin. The server checks this itself; the dashboard only hides what the
 * server would refuse.
 */
export const leads = (me: Schemas['AccountUser'] | undefined): boolean => me?.role === 'owner' || me?.role === 'admin'

/** Returns whether the runtime has no agents. An empty list says nothing while the gateway is not connected. */
export const isNobody = (agents: readonly Schemas['Agent'][], gateway: Schemas['GatewayStatus'] | undefined): boolean =>
  agents.length === 0 && gateway?.state === 'connected'

export interface Person {
  id: string
  name: string
  agent: string | null
  active: boolean
}

/** Prefetches the query that `usePeople` needs. */
export function askPeople(cache: QueryClient): Promise<unknown> {
  const me = cache.getQueryData<Schemas['AccountUser']>(queries.me.queryKey)
  if (leads(me)) return known(cache, queries.users)
  return me?.role === 'user' ? known(cache, queries.people) : Promise.resolve()
}

/** Returns all people whose names the user may see, by ID. Users without access to the account list get names only. */
export function usePeople(): ReadonlyMap<string, Person> {
  const me = useMe().data
  const agents = useQuery(queries.agents).data
  const users = useQuery({ ...queries.users, enabled: leads(me) }).data
  const names = useQuery({ ...queries.people, enabled: me?.role === 'user' }).data
  return useMemo(() => {
    const people = new Map<string, Person>()
    for (const p of names ?? []) people.set(p.id, { id: p.id, name: p.name, agent: null, active: p.active })
    for (const a of agents ?? []) {
      if (a.account)
        people.set(a.account.user_id, { id: a.account.user_id, name: a.name, agent: a.agent_id, active: true })
    }
    for (const u of [...(users ?? []), ...(me ? [me] : [])])
      people.set(u.id, { id: u.id, name: u.name, agent: u.agent_id, active: u.active })
    return people
  }, [me, agents, users, names])
}

/** Keeps the queries above current. */
export const framePatches: readonly Patch[] = [
  {
    on: ['agentrt.status'],
    apply: ({ data }, cache) => {
      cache.setQueryData(queries.gateway.queryKey, data)
      rereadSoon(cache, queries.agents.queryKey)
    },
  },
  // `usage.grown` is not repeated after a reconnect, so `hello` refetches usage too.
  { on: ['usage.grown', 'hello'], apply: (_, cache) => rereadSoon(cache, ['usage']) },
  {
    on: ['user.'],
    apply: (happened, cache) => {
      const about = eventOf(happened)?.subject.id
      rereadSoon(cache, ['users'])
      rereadSoon(cache, queries.agents.queryKey)
      if (about && about === cache.getQueryData<Schemas['AccountUser']>(queries.me.queryKey)?.id)
        rereadSoon(cache, ['me'])
    },
  },
]
