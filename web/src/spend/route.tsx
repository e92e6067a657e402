import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { search } from './search'

const page = lazyPage(() => import('./Page'), 'SpendPage')

export const spendRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/spend',
  validateSearch: search,
  beforeLoad: ({ search }) => page.ask(search),
  component: page,
})
