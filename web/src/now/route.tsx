import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'

const page = lazyPage(() => import('./Page'), 'NowPage')

export const nowRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/',
  beforeLoad: () => page.ask({}),
  component: page,
})
