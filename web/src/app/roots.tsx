import { createRootRoute, createRoute, Outlet, redirect } from '@tanstack/react-router'
import { Frame } from '../frame/Frame'
import { Broken, UnknownPage } from '../frame/Pages'
import { session } from './session'

export const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: UnknownPage, errorComponent: Broken })

/** What is behind the login: every place is a child of this. */
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

/** Whatever is no place: a page within the frame, so that one gets on from there. */
export const unknownRoute = createRoute({ getParentRoute: () => frameRoute, path: '$', component: UnknownPage })
