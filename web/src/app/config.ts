import { useQuery } from '@tanstack/react-query'
import { api, take } from '../api/client'

/** What anyone may know of the service: its version, its zone, whether it has an owner. */
export const configQuery = {
  queryKey: ['config'],
  queryFn: ({ signal }: { signal: AbortSignal }) => take(api.GET('/api/v1/config', { signal })),
  staleTime: 60_000,
} as const

export const useConfig = () => useQuery(configQuery)

/** The zone in which the service counts its days; undefined until it is known. */
export const useZone = (): string | undefined => useConfig().data?.timezone
