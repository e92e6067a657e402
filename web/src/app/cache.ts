import { QueryClient } from '@tanstack/react-query'
import { Problem } from '../api/problem'

/**
 * Returns whether a retry may succeed. Refused requests stay refused, and queries that need the gateway are refetched
 * when the stream reports that it is back.
 */
const mayBeAnswered = (error: unknown): boolean =>
  !(error instanceof Problem) || error.status === 0 || (error.status >= 502 && !error.code.startsWith('gateway_'))

/** The query cache of this tab. */
export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      // The event stream invalidates queries. This only covers changes that the stream doesn't report.
      staleTime: 60_000,
      gcTime: 15 * 60_000,
      networkMode: 'always',
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 2 && mayBeAnswered(error),
    },
    mutations: { networkMode: 'always' },
  },
})
