import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { params, rootRoute, textParam } from '../app/roots'
import { session } from '../app/session'

/** Where one wanted to go, if that is a path of ours: an address that leads elsewhere is a trap. */
export function safeBack(v: unknown): string | undefined {
  const back = textParam(v)
  if (!back?.startsWith('/') || back.startsWith('//') || back.includes('\\') || back.startsWith('/login'))
    return undefined
  return back
}

export const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: (s: Record<string, unknown>) => params({ back: safeBack(s.back) }),
  beforeLoad: ({ search }) => {
    if (session.token() !== null) throw redirect({ href: safeBack(search.back) ?? '/', replace: true })
  },
  component: lazyRouteComponent(() => import('./Login'), 'Login'),
})

export const setupRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/setup',
  component: lazyRouteComponent(() => import('./Setup'), 'Setup'),
})
