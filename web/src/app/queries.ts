import { type QueryClient, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, type Schemas, take } from '../api/client'
import { known } from './ask'
import type { Patch } from './live/patches'
import { eventOf, rereadSoon } from './live/patches'

type Asked = { signal: AbortSignal }

/** What several places and the frame ask for. */
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

/** Whether the runtime is there to be asked, as far as this tab knows. */
export const isConnected = (cache: QueryClient): boolean =>
  cache.getQueryData<Schemas['GatewayStatus']>(queries.gateway.queryKey)?.state === 'connected'

export const useMe = () => useQuery(queries.me)

/** Owners and admins. The service decides; this hides what it would refuse. */
export const leads = (me: Schemas['AccountUser'] | undefined): boolean => me?.role === 'owner' || me?.role === 'admin'

/** Whether the runtime was asked and has none; while it is away an empty list says nothing. */
export const isNobody = (agents: readonly Schemas['Agent'][], gateway: Schemas['GatewayStatus'] | undefined): boolean =>
  agents.length === 0 && gateway?.state === 'connected'

export interface Person {
  id: string
  name: string
  agent: string | null
  active: boolean
}

/** Asks for what usePeople has of others, where nothing is known of it. */
export function askPeople(cache: QueryClient): Promise<unknown> {
  const me = cache.getQueryData<Schemas['AccountUser']>(queries.me.queryKey)
  if (leads(me)) return known(cache, queries.users)
  return me?.role === 'user' ? known(cache, queries.people) : Promise.resolve()
}

/** Everybody whose name one may know, by id: those who may not list the users are told the names alone. */
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

/** How the frame's own answers follow the stream. */
export const framePatches: readonly Patch[] = [
  {
    on: ['agentrt.status'],
    apply: ({ data }, cache) => {
      cache.setQueryData(queries.gateway.queryKey, data)
      rereadSoon(cache, queries.agents.queryKey)
    },
  },
  // What is told as a state of its moment is not told again after a break of the line, which begins anew with a hello.
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
