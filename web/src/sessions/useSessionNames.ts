import { useQueries, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { queries } from '../app/queries'
import { oneQuery as taskQuery } from '../tasks/queries'
import { canonical } from './liveSessions'
import { jobNamesQuery, liveQuery, versionsQuery } from './queries'
import { type Archived, agentOf, needsLabel, partsOf, sessionName } from './session'

export interface Called {
  name: string
  /** The time of its last activity; null if the runtime no longer has the session. */
  at: string | null
}

/**
 * Returns the names of sessions by key. The labels of those that the runtime no longer has come from the archive. A task
 * has its key before its title.
 */
export function useSessionNames(keys: readonly string[]): (key: string) => Called {
  const seen = useQuery(queries.gateway).data?.state === 'connected'
  // Names must not repeat a failed request: the page that shows the failure would load again, and so on.
  const live = useQuery({ ...liveQuery, enabled: seen, retryOnMount: false }).data
  const jobs = useQuery({ ...jobNamesQuery, enabled: seen }).data
  const tasks = useMemo(() => [...new Set(keys.flatMap(k => partsOf(k).task ?? []))], [keys])
  const titles = useQueries({ queries: tasks.map(t => taskQuery(t)), combine: titlesOf })
  const rows = useMemo(() => new Map(live?.rows.map(s => [canonical(s.key), s])), [live])
  const gone = useMemo(
    () => (seen && !live ? [] : keys.filter(k => needsLabel(k) && !rows.has(canonical(k)))),
    [seen, live, keys, rows],
  )
  const labels = useQueries({ queries: gone.map(k => ({ ...versionsQuery(k), retry: false })), combine: labelsOf })
  return useCallback(
    key => {
      const { task } = partsOf(key)
      const row = rows.get(canonical(key))
      const label = row?.label ?? labels.get(canonical(key)) ?? null
      const name = sessionName({ key, label, agent_id: agentOf(key) }, { titles, jobs })
      return { name: task && name !== task ? `${task} ${name}` : name, at: row?.updated_at ?? null }
    },
    [rows, jobs, titles, labels],
  )
}

const titlesOf = (list: readonly { data: { key: string; title: string } | undefined }[]) =>
  new Map(list.flatMap(t => (t.data ? [[t.data.key, t.data.title] as const] : [])))

/** Returns the labels of archived sessions by key, the newest of each. */
const labelsOf = (list: readonly { data: readonly Archived[] | undefined }[]) =>
  new Map(list.flatMap(v => (v.data?.[0] ? [[canonical(v.data[0].key), v.data[0].label] as const] : [])))
