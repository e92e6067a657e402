import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/lazy'
import { frameRoute } from '../app/rootRoutes'
import { params, wordParam } from '../app/searchParams'

/** Reads the search parameters: whether the scheduled runs are a table. */
const search = (s: Record<string, unknown>) => params({ runs: wordParam(s.runs, ['table']) })

const page = lazyPage(() => import('./Page'), 'NowPage')

export const nowRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/',
  validateSearch: search,
  beforeLoad: ({ search }) => page.ask(search),
  component: page,
})
