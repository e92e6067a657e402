import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Problem } from './api/problem'
import { startKeys } from './app/keys'
import { startLive } from './app/live'
import { patches } from './app/patches'
import { router } from './app/router'
import { session } from './app/session'
import { startView } from './app/view'
import { Toasts } from './ui/Toast'
import './ui/tokens.css'

const cache = new QueryClient({
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

startView()
startKeys()
startLive(cache, patches)
// What one person saw is not for the next.
session.onLeave(() => cache.clear())
session.subscribe(() => void router.invalidate())

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      {/* The policy of the page allows no style elements. */}
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={cache}>
          <RouterProvider router={router} />
          <Toasts />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  )
}
