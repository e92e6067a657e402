import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { queries } from '../app/queries'
import { listQuery as tasksQuery } from '../tasks/queries'
import { useAgentNames } from './Bits'
import { canonical } from './liveSessions'
import { jobNamesQuery, liveQuery } from './queries'
import { type Archived, partsOf, type Session, sessionName } from './session'

/** What the rows of a list are called. */
export interface ListNames {
  agent: (id: string) => string
  /** Returns the title of the session's task, the name of its job, or the session's own name. */
  nameOf: (s: Session | Archived) => string
  /** Finds a live session, by its key. */
  find: (key: string) => { to: string; name: string } | undefined
}

/** Returns the names for a list of sessions. */
export function useListNames(rows: readonly (Session | Archived)[]): ListNames {
  const agents = useAgentNames()
  const seen = useQuery(queries.gateway).data?.state === 'connected'
  const jobs = useQuery({ ...jobNamesQuery, enabled: seen }).data
  // Names must not repeat a failed request: the page that shows the failure would load again, and so on.
  const live = useQuery({ ...liveQuery, enabled: seen, retryOnMount: false }).data
  const anyTask = rows.some(r => partsOf(r.key).task !== undefined)
  const tasks = useInfiniteQuery({ ...tasksQuery({}), enabled: anyTask }).data
  return useMemo(() => {
    const titles = new Map(tasks?.pages.flatMap(p => p.rows.map(t => [t.key, t.title] as const)))
    const parents = new Map(live?.rows.map(s => [canonical(s.key), s]))
    const nameOf = (s: Session | Archived) => sessionName(s, { titles, jobs })
    return {
      agent: id => agents.get(id) ?? id,
      nameOf,
      find: key => {
        const row = parents.get(key)
        return row && { to: key, name: nameOf(row) }
      },
    }
  }, [agents, jobs, live, tasks])
}
