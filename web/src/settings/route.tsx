import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { dayParam, params, searchParam, textParam, wordParam } from '../app/searchParams'

const root = createRoute({
  getParentRoute: () => frameRoute,
  path: '/settings',
  component: lazyPage(() => import('./Layout'), 'SettingsLayout'),
})

/** A page without search parameters. */
const plain = <P extends string>(path: P, component: ReturnType<typeof lazyPage>) =>
  createRoute({ getParentRoute: () => root, path, component })

const usersRoute = createRoute({
  getParentRoute: () => root,
  path: '/users',
  validateSearch: (s: Record<string, unknown>) =>
    params({
      q: searchParam(s.q),
      role: wordParam(s.role, ['owner', 'admin', 'user', 'agent']),
      show: wordParam(s.show, ['active', 'inactive']),
      user: textParam(s.user),
      new: wordParam(s.new, ['1']),
    }),
  component: lazyPage(() => import('./Users'), 'UsersPart'),
})

const agentKeysRoute = createRoute({
  getParentRoute: () => root,
  path: '/agents',
  validateSearch: (s: Record<string, unknown>) => params({ agent: textParam(s.agent), account: textParam(s.account) }),
  component: lazyPage(() => import('./Agents'), 'AgentsPart'),
})

const projectsRoute = createRoute({
  getParentRoute: () => root,
  path: '/projects',
  validateSearch: (s: Record<string, unknown>) =>
    params({ project: textParam(s.project), new: wordParam(s.new, ['1']) }),
  component: lazyPage(() => import('./Projects'), 'ProjectsPart'),
})

const teamsRoute = createRoute({
  getParentRoute: () => root,
  path: '/teams',
  validateSearch: (s: Record<string, unknown>) => params({ team: textParam(s.team), new: wordParam(s.new, ['1']) }),
  component: lazyPage(() => import('./Teams'), 'TeamsPart'),
})

const auditRoute = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: (s: Record<string, unknown>) =>
    params({
      kind: textParam(s.kind),
      actor: textParam(s.actor),
      since: dayParam(s.since),
      until: dayParam(s.until),
      event: textParam(s.event),
    }),
  component: lazyPage(() => import('./Audit'), 'AuditPart'),
})

export const settingsRoute = root.addChildren([
  plain(
    '/',
    lazyPage(() => import('./Overview'), 'SettingsIndex'),
  ),
  plain(
    '/account',
    lazyPage(() => import('./Account'), 'AccountPart'),
  ),
  usersRoute,
  agentKeysRoute,
  plain(
    '/gateway',
    lazyPage(() => import('./Gateway'), 'GatewayPart'),
  ),
  projectsRoute,
  teamsRoute,
  plain(
    '/retention',
    lazyPage(() => import('./Retention'), 'RetentionPart'),
  ),
  auditRoute,
  plain(
    '/health',
    lazyPage(() => import('./Health'), 'HealthPart'),
  ),
])
