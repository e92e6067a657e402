import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/later'
import { params, wordParam } from '../app/params'
import { frameRoute } from '../app/roots'

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
