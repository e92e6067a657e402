import type { QueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { known } from '../app/prefetch'
import { isConnected } from '../app/queries'
import { useTitle } from '../app/title'
import { useGo } from '../app/useGo'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Archive } from './Archive'

import { jobNamesQuery, liveQuery } from './queries'
import { Recent } from './Recent'
import type { Go, SessionsSearch } from './search'
import { Toolbar } from './Toolbar'

const sessionsRoute = getRouteApi('/frame/sessions')

const words = sessionsWords

/** Prefetches the live sessions. */
export async function ask(cache: QueryClient, { show }: SessionsSearch): Promise<void> {
  if (show === 'history' || !isConnected(cache)) return
  await Promise.all([known(cache, liveQuery), known(cache, jobNamesQuery)])
}

/** The sessions page: live sessions or the archive. */
export function SessionsPage() {
  const search = sessionsRoute.useSearch()
  const go: Go = useGo('/sessions')
  const view = search.show ?? 'live'
  useTitle(view === 'history' ? words.view.history : undefined, texts.app.places.sessions)
  return (
    <div className="flex h-full min-h-0 flex-col">
      <h2 className="sr-only">{words.view[view]}</h2>
      <Toolbar go={go} search={search} view={view} />
      {view === 'live' ? <Recent go={go} search={search} /> : <Archive go={go} search={search} />}
    </div>
  )
}
