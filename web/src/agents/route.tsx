import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { params, wordParam } from '../app/searchParams'

/** Reads the search parameters of the agents page. */
function search(s: Record<string, unknown>) {
  return params({ view: wordParam(s.view, ['table', 'tree']) })
}

const agentsFolder = createRoute({ getParentRoute: () => frameRoute, path: '/agents' })

const agentsListRoute = createRoute({
  getParentRoute: () => agentsFolder,
  path: '/',
  validateSearch: search,
  component: lazyPage(() => import('./Page'), 'AgentsPage'),
})

const agentRoute = createRoute({
  getParentRoute: () => agentsFolder,
  path: '/$agentId',
  component: lazyPage(() => import('./Agent'), 'AgentPage'),
})

/** The routes under /agents. */
export const agentsRoute = agentsFolder.addChildren([agentsListRoute, agentRoute])
