import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/later'
import { params, wordParam } from '../app/params'
import { frameRoute } from '../app/roots'
import { steps } from './steps'

/** The First steps wizard. The open step is in the URL. */
export const welcomeRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/welcome',
  validateSearch: (s: Record<string, unknown>) => params({ step: wordParam(s.step, steps) }),
  component: lazyPage(() => import('./Page'), 'WelcomePage'),
})
