import { useQuery } from '@tanstack/react-query'
import { api, take } from '../api/client'

/** The public configuration: version, time zone, whether there is an owner. */
export const configQuery = {
  queryKey: ['config'],
  queryFn: ({ signal }: { signal: AbortSignal }) => take(api.GET('/api/v1/config', { signal })),
  staleTime: 60_000,
} as const

export const useConfig = () => useQuery(configQuery)

/** Returns the server's time zone, or undefined until it is loaded. */
export const useZone = (): string | undefined => useConfig().data?.timezone
