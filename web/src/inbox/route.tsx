import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { search } from './search'

const page = lazyPage(() => import('./Page'), 'InboxPage')

export const inboxRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/inbox',
  validateSearch: search,
  beforeLoad: ({ search }) => page.ask(search),
  component: page,
})
