import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, take } from '../api/client'

/** All agents with their summaries. */
export const summariesQuery = queryOptions({
  queryKey: ['agents', 'summaries'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/agents', { params: { query: { summary: true } }, signal })),
})

export const oneQuery = (id: string) =>
  queryOptions({
    queryKey: ['agents', 'one', id],
    queryFn: ({ signal }) => take(api.GET('/api/v1/agents/{agent_id}', { params: { path: { agent_id: id } }, signal })),
  })

/** How the agent is connected to the tools. Only the owner and admins may read it. */
export const connectionQuery = (id: string) =>
  queryOptions({
    queryKey: ['agents', 'connection', id],
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/agents/{agent_id}/tools', { params: { path: { agent_id: id } }, signal })),
  })

export const teamsQuery = queryOptions({
  queryKey: ['agents', 'teams'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/teams', { params: { query: { limit: 500 } }, signal })),
})

/** Returns the names of the teams whose standups the agent facilitates. */
export function useLed(id: string): string[] {
  const teams = useQuery(teamsQuery).data
  return teams?.filter(t => t.facilitator === id).map(t => t.name) ?? []
}
