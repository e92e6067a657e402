import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { params, textParam, wordParam } from '../app/searchParams'
import { search } from './search'

const page = lazyPage(() => import('./Page'), 'SessionsPage')

export const sessionsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/sessions',
  validateSearch: search,
  beforeLoad: ({ search }) => page.ask(search),
  component: page,
})

/** The page of a session: live by key, archived by ID. */
export const sessionRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/sessions/$key',
  validateSearch: (s: Record<string, unknown>) =>
    params({ step: textParam(s.step), compose: wordParam(s.compose, ['1']) }),
  component: lazyPage(() => import('./SessionPage'), 'SessionPage'),
})
