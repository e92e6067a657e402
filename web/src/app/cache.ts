import { QueryClient } from '@tanstack/react-query'
import { Problem } from '../api/problem'

/**
 * Whether the same question may be answered in a moment. What was refused is refused again, and what the gateway was
 * to answer is read anew when the stream tells that it is back.
 */
const mayBeAnswered = (error: unknown): boolean =>
  !(error instanceof Problem) || error.status === 0 || (error.status >= 502 && !error.code.startsWith('gateway_'))

/** What this tab has read. */
export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      // The stream says when something is other than before; asking again by the clock is for what it does not tell.
      staleTime: 60_000,
      gcTime: 15 * 60_000,
      networkMode: 'always',
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 2 && mayBeAnswered(error),
    },
    mutations: { networkMode: 'always' },
  },
})
