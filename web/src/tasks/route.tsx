import { createRoute, redirect } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { search } from './search'

const page = lazyPage(() => import('./Page'), 'TasksPage')

export const tasksRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/tasks',
  validateSearch: search,
  beforeLoad: ({ search }) => page.ask(search),
  component: page,
})

/** The short address of a task. Opens it beside the board. */
export const taskRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/tasks/$key',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/tasks', search: { task: params.key }, replace: true })
  },
})
