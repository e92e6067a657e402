import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { dayParam, params, searchParam, textParam, wordParam } from '../app/searchParams'

const root = createRoute({
  getParentRoute: () => frameRoute,
  path: '/settings',
  component: lazyPage(() => import('./Layout'), 'SettingsLayout'),
})

const indexRoute = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyPage(() => import('./Layout'), 'SettingsIndex'),
})

const accountRoute = createRoute({
  getParentRoute: () => root,
  path: '/account',
  component: lazyPage(() => import('./Account'), 'AccountPart'),
})

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

const gatewayRoute = createRoute({
  getParentRoute: () => root,
  path: '/gateway',
  component: lazyPage(() => import('./Gateway'), 'GatewayPart'),
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

const retentionRoute = createRoute({
  getParentRoute: () => root,
  path: '/retention',
  component: lazyPage(() => import('./Retention'), 'RetentionPart'),
})

const subjects = [
  'user',
  'address',
  'device',
  'service',
  'prices',
  'retention',
  'task',
  'standup',
  'schedule',
  'session',
] as const

const auditRoute = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: (s: Record<string, unknown>) =>
    params({
      kind: textParam(s.kind),
      actor: textParam(s.actor),
      about: wordParam(s.about, subjects),
      since: dayParam(s.since),
      until: dayParam(s.until),
      event: textParam(s.event),
    }),
  component: lazyPage(() => import('./Audit'), 'AuditPart'),
})

const healthRoute = createRoute({
  getParentRoute: () => root,
  path: '/health',
  component: lazyPage(() => import('./Health'), 'HealthPart'),
})

export const settingsRoute = root.addChildren([
  indexRoute,
  accountRoute,
  usersRoute,
  agentKeysRoute,
  gatewayRoute,
  projectsRoute,
  teamsRoute,
  retentionRoute,
  auditRoute,
  healthRoute,
])
