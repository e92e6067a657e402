import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { dayParam, params, searchParam, textParam, wordParam } from '../app/searchParams'

/** Reads the search parameters of the sessions page. */
function search(s: Record<string, unknown>) {
  return params({
    show: wordParam(s.show, ['live', 'history']),
    q: searchParam(s.q),
    agent: textParam(s.agent),
    kind: textParam(s.kind),
    state: wordParam(s.state, ['active', 'resting', 'stalled']),
    group: wordParam(s.group, ['agent', 'kind']),
    jobs: textParam(s.jobs),
    status: wordParam(s.status, ['done', 'failed', 'killed', 'timeout']),
    from: dayParam(s.from),
    to: dayParam(s.to),
  })
}

export type SessionsSearch = ReturnType<typeof search>

export type Go = (change: SessionsSearch, replace?: boolean) => void

const page = lazyPage(() => import('./Page'), 'SessionsPage')

export const sessionsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/sessions',
  validateSearch: search,
  beforeLoad: ({ search }) => page.ask(search),
  component: page,
})

/** The page of a session: live by key, archived by ID. */
export const sessionRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/sessions/$key',
  validateSearch: (s: Record<string, unknown>) =>
    params({ step: textParam(s.step), strip: wordParam(s.strip, ['table']) }),
  component: lazyPage(() => import('./SessionPage'), 'SessionPage'),
})
