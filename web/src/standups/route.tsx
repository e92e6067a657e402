import { createRoute } from '@tanstack/react-router'
import { lazyPage } from '../app/later'
import { dayParam, params, textParam, wordParam } from '../app/params'
import { frameRoute } from '../app/roots'

export const parts = ['reports', 'transcript'] as const

/** What the address of the standups says: whose, of which day, and what of it is open. */
function search(s: Record<string, unknown>) {
  return params({
    team: textParam(s.team),
    /** 2026-11-20; the latest one when left out. */
    day: dayParam(s.day),
    part: wordParam(s.part, parts),
    /** The last day of the calendar. */
    until: dayParam(s.until),
    /** Whose evidence is unfolded, separated by commas. */
    open: textParam(s.open),
    /** Whose report is being handed in. */
    file: textParam(s.file),
  })
}

export type StandupSearch = ReturnType<typeof search>
export type Go = (change: StandupSearch, replace?: boolean) => void

const page = lazyPage(() => import('./Page'), 'StandupsPage')

export const standupsRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/standups',
  validateSearch: search,
  beforeLoad: ({ search }) => page.ask(search),
  component: page,
})

/** One standup by its id, as the inbox and the activity name it. */
export const standupRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/standups/$id',
  validateSearch: search,
  component: lazyPage(() => import('./Page'), 'StandupPage'),
})
