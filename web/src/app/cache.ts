import { QueryClient } from '@tanstack/react-query'
import { Problem } from '../api/problem'

/** What this tab has read. */
export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      // The stream says when something is other than before; asking again by the clock is for what it does not tell.
      staleTime: 60_000,
      gcTime: 15 * 60_000,
      networkMode: 'always',
      refetchOnWindowFocus: false,
      // What was refused is refused again; what was not answered may be in a moment.
      retry: (count, error) => count < 2 && (!(error instanceof Problem) || error.status === 0 || error.status >= 502),
    },
    mutations: { networkMode: 'always' },
  },
})
