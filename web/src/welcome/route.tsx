import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { params, wordParam } from '../app/searchParams'
import { steps } from './steps'

/** The First steps wizard. The open step is in the URL. */
export const welcomeRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/welcome',
  validateSearch: (s: Record<string, unknown>) => params({ step: wordParam(s.step, steps) }),
  component: lazyPage(() => import('./Page'), 'WelcomePage'),
})
