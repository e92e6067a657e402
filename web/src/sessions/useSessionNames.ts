import { useQueries, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { queries } from '../app/queries'
import { oneQuery as taskQuery } from '../tasks/queries'
import { canonical } from './liveSessions'
import { jobNamesQuery, liveQuery } from './queries'
import { nameOf, partsOf } from './session'

export interface Called {
  name: string
  /** The time of its last activity; null if the runtime no longer has the session. */
  at: string | null
}

/**
 * Returns the names of sessions by key: the runtime's label, the task's title, or the job's name. Falls back to the
 * key.
 */
export function useSessionNames(keys: readonly string[]): (key: string) => Called {
  const seen = useQuery(queries.gateway).data?.state === 'connected'
  const live = useQuery({ ...liveQuery, enabled: seen }).data
  const jobs = useQuery({ ...jobNamesQuery, enabled: seen }).data
  const tasks = useMemo(() => [...new Set(keys.flatMap(k => partsOf(k).task ?? []))], [keys])
  const titles = useQueries({ queries: tasks.map(t => taskQuery(t)), combine: titlesOf })
  const rows = useMemo(() => new Map(live?.rows.map(s => [canonical(s.key), s])), [live])
  return useCallback(
    key => {
      const { task, job } = partsOf(key)
      const row = rows.get(canonical(key))
      const name = nameOf({ key, label: row?.label ?? null, agent_id: agentOf(key) })
      const at = row?.updated_at ?? null
      if (task) return { name: [task, titles.get(task)].filter(Boolean).join(' '), at }
      return { name: (job && jobs?.get(job)) || name, at }
    },
    [rows, jobs, titles],
  )
}

const titlesOf = (list: readonly { data: { key: string; title: string } | undefined }[]) =>
  new Map(list.flatMap(t => (t.data ? [[t.data.key, t.data.title] as const] : [])))

/** Returns the agent ID in a session key. */
export const agentOf = (key: string): string => /^agent:([^:]+):/i.exec(key)?.[1] ?? ''
