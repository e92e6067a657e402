import { useQueries, useQuery } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { partsOf } from '../sessions/session'
import { type InProgress, inProgressQuery, oneQuery } from '../tasks/queries'
import { currentTask, sessionOf } from './tile'

type Agent = Schemas['Agent']
type Task = Schemas['TaskCard']

/**
 * Returns the task of each agent. The latest tasks in progress usually cover all agents. If there are more, claimed
 * tasks and a few tasks of the remaining agents are loaded too.
 */
export function useCurrentTasks(agents: readonly Agent[], sessions: readonly Schemas['Session'][]) {
  const first = useQuery(inProgressQuery('all'))
  const cut = first.data !== undefined && first.data.next !== null
  const held = useQuery({ ...inProgressQuery({ holder: 'any' }), enabled: cut })
  const read = [...(first.data?.rows ?? []), ...(held.data?.rows ?? [])]
  const ofSession = (a: Agent) => sessionOf(a.agent_id, sessions)
  const lacking = cut && held.data ? agents.filter(a => !currentTask(a.account?.user_id, read, ofSession(a))) : []
  const keys = cut
    ? agents.flatMap(a => {
        const session = ofSession(a)
        return (session?.active && partsOf(session.key).task) || []
      })
    : []
  const named = useQueries({
    queries: keys.filter(key => !read.some(t => t.key === key)).map(key => oneQuery(key)),
    combine: tasksOf,
  })
  const theirs = useQueries({
    queries: lacking.flatMap(a =>
      a.account ? [inProgressQuery({ assignee: a.account.user_id } satisfies InProgress)] : [],
    ),
    combine: rowsOf,
  })
  const all: readonly Task[] = [...read, ...named, ...theirs]
  return {
    of: (a: Agent) => currentTask(a.account?.user_id, all, ofSession(a)),
    known: first.data !== undefined,
    failed: first.error !== null && first.data === undefined,
  }
}

const tasksOf = (asked: readonly { data: Task | undefined }[]) => asked.flatMap(a => a.data ?? [])
const rowsOf = (asked: readonly { data: { rows: Task[] } | undefined }[]) => asked.flatMap(a => a.data?.rows ?? [])
