import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { search } from './search'

const page = lazyPage(() => import('./Page'), 'SchedulesPage')

export const schedulesRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/schedules',
  validateSearch: search,
  beforeLoad: ({ search }) => page.ask(search),
  component: page,
})
