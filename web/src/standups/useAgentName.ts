import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { queries } from '../app/queries'
import type { Standup } from './standup'

export type NameOf = (agent: string) => string

/** Returns a function that names agents: by the standup's record, else the agent list, else the ID. */
export function useAgentName(s: Pick<Standup, 'reports'> | undefined): NameOf {
  const agents = useQuery(queries.agents).data
  return useCallback(
    id =>
      s?.reports.find(r => r.agent_id === id)?.name || agents?.find(a => a.agent_id === id)?.name || id.toUpperCase(),
    [s, agents],
  )
}
