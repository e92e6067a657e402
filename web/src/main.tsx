import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { cache } from './app/cache'
import { startKeys } from './app/keys'
import { startLive } from './app/live'
import { patches } from './app/patches'
import { router } from './app/router'
import { session } from './app/session'
import { allowTranslation } from './app/translation'
import { startView } from './app/view'
import { Toasts } from './ui/Toasts'
import './ui/tokens.css'

allowTranslation()
startView()
startKeys()
startLive(cache, patches)
// Cached data must not reach the next user.
session.onLeave(() => cache.clear())
session.subscribe(() => void router.invalidate())

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      {/* The content security policy forbids style elements. */}
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={cache}>
          <RouterProvider router={router} />
          <Toasts />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  )
}
