import { createRootRoute, createRoute, Outlet, redirect } from '@tanstack/react-router'
import { Broken, UnknownPage } from '../frame/ErrorPages'
import { session } from './session'

export const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: UnknownPage, errorComponent: Broken })

/** The parent route of every page; requires sign-in. The router sets its component, the frame, which links to pages. */
export const frameRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'frame',
  beforeLoad: ({ location }) => {
    if (session.token() !== null) return
    const back = location.href === '/' ? undefined : location.href
    throw redirect({ to: '/login', search: back ? { back } : {}, replace: true })
  },
  notFoundComponent: UnknownPage,
})

/** Shows the "page not found" page for unknown addresses. */
export const unknownRoute = createRoute({ getParentRoute: () => frameRoute, path: '$', component: UnknownPage })
