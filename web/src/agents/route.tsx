import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { params, searchParam, wordParam } from '../app/searchParams'

const agentsFolder = createRoute({ getParentRoute: () => frameRoute, path: '/agents' })

const agentsListRoute = createRoute({
  getParentRoute: () => agentsFolder,
  path: '/',
  validateSearch: (s: Record<string, unknown>) => params({ q: searchParam(s.q) }),
  component: lazyPage(() => import('./Page'), 'AgentsPage'),
})

const agentRoute = createRoute({
  getParentRoute: () => agentsFolder,
  path: '/$agentId',
  validateSearch: (s: Record<string, unknown>) => params({ connect: wordParam(s.connect, ['1']) }),
  component: lazyPage(() => import('./Agent'), 'AgentPage'),
})

/** The routes under /agents. */
export const agentsRoute = agentsFolder.addChildren([agentsListRoute, agentRoute])
