import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { search } from './search'

const page = lazyPage(() => import('./Page'), 'StandupsPage')

export const standupsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/standups',
  validateSearch: search,
  beforeLoad: ({ search }) => page.ask(search),
  component: page,
})

/** The page of a standup by ID, as linked from the inbox and the activity. */
export const standupRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/standups/$id',
  validateSearch: search,
  component: lazyPage(() => import('./Page'), 'StandupPage'),
})
