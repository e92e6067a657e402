import { createRoute, redirect } from '@tanstack/react-router'
import { home } from '../app/base'
import { lazyPage } from '../app/lazy'
import { rootRoute } from '../app/rootRoutes'
import { params } from '../app/searchParams'
import { session } from '../app/session'
import { safeReturnPath } from './returnPath'

/** Redirects signed-in users to the page they wanted, on arrival and after sign-in. */
const leadOn = {
  validateSearch: (s: Record<string, unknown>) => params({ back: safeReturnPath(s.back) }),
  beforeLoad: ({ search }: { search: { back?: string | undefined } }) => {
    if (session.token() !== null) throw redirect({ href: home + (safeReturnPath(search.back) ?? '/'), replace: true })
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

export const signInLinkRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  component: lazyPage(() => import('./SignInLink'), 'SignInLink'),
})
