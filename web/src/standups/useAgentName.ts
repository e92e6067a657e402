import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { queries } from '../app/queries'
import type { Standup } from './standup'

export type NameOf = (agent: string) => string

/** What an agent is called: as the record has it, else as the roster does, else by its id. */
export function useAgentName(s: Pick<Standup, 'reports'> | undefined): NameOf {
  const agents = useQuery(queries.agents).data
  return useCallback(
    id =>
      s?.reports.find(r => r.agent_id === id)?.name || agents?.find(a => a.agent_id === id)?.name || id.toUpperCase(),
    [s, agents],
  )
}
