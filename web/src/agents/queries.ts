import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { addDays } from '../app/days'

export const oneQuery = (id: string) =>
  queryOptions({
    queryKey: ['agents', 'one', id],
    queryFn: ({ signal }) => take(api.GET('/api/v1/agents/{agent_id}', { params: { path: { agent_id: id } }, signal })),
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

/** The cost of one day by agent. Not filtered by agent, so that all agent pages share one answer per day. */
export const dayQuery = (day: string, zone: string) =>
  queryOptions({
    queryKey: ['agents', 'spend', day, zone],
    queryFn: ({ signal }) =>
      take(
        api.GET('/api/v1/usage', {
          params: { query: { from: day, to: addDays(day, 1), zone, group: 'agent' } },
          signal,
        }),
      ),
  })
