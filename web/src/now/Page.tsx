import type { QueryClient } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { known } from '../app/prefetch'
import { isConnected } from '../app/queries'
import { useTitle } from '../app/title'
import { texts } from '../texts'
import { Activity } from './Activity'
import { Agents } from './Agents'
import { Failures } from './Failures'
import { LastStandup } from './LastStandup'
import { NeedsYou } from './NeedsYou'
import { blockedQuery, sessionsQuery, standupQuery } from './queries'
import { SpendCard } from './SpendCard'
import { StatusSummary } from './StatusSummary'
import { Timeline } from './Timeline'

const nowRoute = getRouteApi('/frame/')

/** Prefetches the queries that need neither a role nor the current day. */
export const ask = (cache: QueryClient): Promise<unknown> =>
  Promise.all([
    known(cache, blockedQuery),
    known(cache, standupQuery),
    ...(isConnected(cache) ? [known(cache, sessionsQuery)] : []),
  ])

const column = 'flex-col gap-3 md:gap-4'

/** The Now page: a status summary, then cards with the details. */
export function NowPage() {
  const { runs } = nowRoute.useSearch()
  const navigate = useNavigate({ from: '/' })
  useTitle(texts.app.places.now)
  return (
    <div className="mx-auto flex max-w-[90rem] flex-col gap-3 p-3 md:gap-4 md:p-4">
      <StatusSummary />
      {/* Two columns on wide screens, else one column in order of importance. */}
      <div className={`flex ${column} xl:flex-row xl:items-start`}>
        <div className={`contents min-w-0 xl:flex xl:w-2/3 ${column}`}>
          <NeedsYou className="order-1" />
          <Agents className="order-2" />
          <Timeline
            className="order-4"
            onTable={table => void navigate({ search: table ? { runs: 'table' } : {}, replace: true })}
            table={runs === 'table'}
          />
        </div>
        <div className={`contents min-w-0 xl:flex xl:w-1/3 ${column}`}>
          <SpendCard className="order-3" />
          <LastStandup className="order-6" />
          <Failures className="order-5" />
          <Activity className="order-7" />
        </div>
      </div>
    </div>
  )
}
