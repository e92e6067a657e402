import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { queries } from '../app/queries'
import { activeRunsQuery } from '../spend/activeRuns'
import { isGoing } from '../tasks/dispatch'
import type { Task } from '../tasks/task'
import { texts } from '../texts'
import { acting } from '../texts/acting'
import type { Reviewed } from './useApprove'

type Of = Pick<Reviewed, 'key'> & Partial<Pick<Task, 'dispatch' | 'waiting_on'>>

/**
 * Returns a function that says why a task in Review can be neither approved nor sent back now, or null. The server
 * enforces it.
 */
export function useWhyNotReview(): (of: Of) => string | null {
  const runs = useQuery(activeRunsQuery).data?.runs
  const agents = useQuery(queries.agents).data
  return useCallback(
    ({ key, dispatch, waiting_on }) => {
      if (waiting_on) return texts.tasks.dispatch.isWaiting(waiting_on)
      // Lists have no dispatches. A run without one, such as the answer to a message, is no reason.
      const run = runs?.find(r => r.task_key === key && r.run_id.startsWith(`task-${key}-`))
      const going = dispatch === undefined ? run : isGoing(dispatch) ? dispatch : null
      if (!going) return null
      return acting.notYet(agents?.find(a => a.agent_id === going.agent_id)?.name ?? going.agent_id)
    },
    [runs, agents],
  )
}
