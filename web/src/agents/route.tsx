import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/later'
import { params, wordParam } from '../app/params'
import { frameRoute } from '../app/roots'

/** Reads the search parameters of the agents page. */
function search(s: Record<string, unknown>) {
  return params({ view: wordParam(s.view, ['table', 'tree']) })
}

const agentsFolder = createRoute({ getParentRoute: () => frameRoute, path: '/agents' })

export const agentsListRoute = createRoute({
  getParentRoute: () => agentsFolder,
  path: '/',
  validateSearch: search,
  component: lazyPage(() => import('./Page'), 'AgentsPage'),
})

export const agentRoute = createRoute({
  getParentRoute: () => agentsFolder,
  path: '/$agentId',
  component: lazyPage(() => import('./Agent'), 'AgentPage'),
})

/** The routes under /agents. */
export const agentsRoute = agentsFolder.addChildren([agentsListRoute, agentRoute])
