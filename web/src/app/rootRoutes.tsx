import { createRootRoute, createRoute, Outlet, redirect } from '@tanstack/react-router'
import { Broken, UnknownPage } from '../frame/ErrorPages'
import { Frame } from '../frame/Frame'
import { session } from './session'

export const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: UnknownPage, errorComponent: Broken })

/** The parent route of every page; requires sign-in. */
export const frameRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'frame',
  beforeLoad: ({ location }) => {
    if (session.token() !== null) return
    const back = location.href === '/' ? undefined : location.href
    throw redirect({ to: '/login', search: back ? { back } : {}, replace: true })
  },
  component: Frame,
  notFoundComponent: UnknownPage,
})

/** Shows the "page not found" page for unknown addresses. */
export const unknownRoute = createRoute({ getParentRoute: () => frameRoute, path: '$', component: UnknownPage })
