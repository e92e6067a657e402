import { createRoute, redirect } from '@tanstack/react-router'
import { lazyPage } from '../app/later'
import { params } from '../app/params'
import { rootRoute } from '../app/roots'
import { session } from '../app/session'
import { safeBack } from './back'

export const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: (s: Record<string, unknown>) => params({ back: safeBack(s.back) }),
  beforeLoad: ({ search }) => {
    if (session.token() !== null) throw redirect({ href: safeBack(search.back) ?? '/', replace: true })
  },
  component: lazyPage(() => import('./Login'), 'Login'),
})

export const setupRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/setup',
  component: lazyPage(() => import('./Setup'), 'Setup'),
})
