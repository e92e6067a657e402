import { createRoute, redirect } from '@tanstack/react-router'
import { lazyPage } from '../app/later'
import { params } from '../app/params'
import { rootRoute } from '../app/roots'
import { session } from '../app/session'
import { safeBack } from './back'

/** Redirects signed-in users to the page they wanted, on arrival and after sign-in. */
const leadOn = {
  validateSearch: (s: Record<string, unknown>) => params({ back: safeBack(s.back) }),
  beforeLoad: ({ search }: { search: { back?: string | undefined } }) => {
    if (session.token() !== null) throw redirect({ href: safeBack(search.back) ?? '/', replace: true })
  },
}

export const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  ...leadOn,
  component: lazyPage(() => import('./Login'), 'Login'),
})

export const registerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/register',
  ...leadOn,
  component: lazyPage(() => import('./Register'), 'Register'),
})

export const setupRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/setup',
  component: lazyPage(() => import('./Setup'), 'Setup'),
})
