import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { frameRoute, params, textParam, wordParam } from '../app/roots'

const root = createRoute({
  getParentRoute: () => frameRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('./Layout'), 'SettingsLayout'),
})

const indexRoute = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('./Layout'), 'SettingsIndex'),
})

const accountRoute = createRoute({
  getParentRoute: () => root,
  path: '/account',
  component: lazyRouteComponent(() => import('./Account'), 'AccountPart'),
})

export const usersRoute = createRoute({
  getParentRoute: () => root,
  path: '/users',
  validateSearch: (s: Record<string, unknown>) =>
    params({
      q: textParam(s.q),
      role: wordParam(s.role, ['owner', 'admin', 'user', 'agent']),
      show: wordParam(s.show, ['active', 'inactive']),
      user: textParam(s.user),
      new: wordParam(s.new, ['1']),
    }),
  component: lazyRouteComponent(() => import('./Users'), 'UsersPart'),
})

export const agentKeysRoute = createRoute({
  getParentRoute: () => root,
  path: '/agents',
  validateSearch: (s: Record<string, unknown>) => params({ agent: textParam(s.agent), account: textParam(s.account) }),
  component: lazyRouteComponent(() => import('./Agents'), 'AgentsPart'),
})

const gatewayRoute = createRoute({
  getParentRoute: () => root,
  path: '/gateway',
  component: lazyRouteComponent(() => import('./Gateway'), 'GatewayPart'),
})

export const teamsRoute = createRoute({
  getParentRoute: () => root,
  path: '/teams',
  validateSearch: (s: Record<string, unknown>) => params({ team: textParam(s.team), new: wordParam(s.new, ['1']) }),
  component: lazyRouteComponent(() => import('./Teams'), 'TeamsPart'),
})

const retentionRoute = createRoute({
  getParentRoute: () => root,
  path: '/retention',
  component: lazyRouteComponent(() => import('./Retention'), 'RetentionPart'),
})

const subjects = ['user', 'address', 'service', 'task', 'standup', 'schedule', 'session'] as const

export const auditRoute = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: (s: Record<string, unknown>) =>
    params({
      kind: textParam(s.kind),
      actor: textParam(s.actor),
      about: wordParam(s.about, subjects),
      since: textParam(s.since),
      until: textParam(s.until),
      event: textParam(s.event),
    }),
  component: lazyRouteComponent(() => import('./Audit'), 'AuditPart'),
})

const healthRoute = createRoute({
  getParentRoute: () => root,
  path: '/health',
  component: lazyRouteComponent(() => import('./Health'), 'HealthPart'),
})

export const settingsRoute = root.addChildren([
  indexRoute,
  accountRoute,
  usersRoute,
  agentKeysRoute,
  gatewayRoute,
  teamsRoute,
  retentionRoute,
  auditRoute,
  healthRoute,
])
