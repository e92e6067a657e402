import type { QueryClient } from '@tanstack/react-query'
import { known } from '../app/prefetch'
import { isConnected } from '../app/queries'
import { useTitle } from '../app/title'
import { liveQuery } from '../sessions/queries'
import { texts } from '../texts'
import { Guarded } from '../ui/Guarded'
import { Agents } from './Agents'
import { NeedsYou } from './NeedsYou'
import { activityQuery, blockedQuery, standupQuery } from './queries'
import { SpendCard } from './SpendCard'
import { StatusSummary } from './StatusSummary'
import { Timeline } from './Timeline'

/** Prefetches the queries that need neither a role nor the current day. */
export const ask = (cache: QueryClient): Promise<unknown> =>
  Promise.all([
    known(cache, blockedQuery),
    known(cache, standupQuery),
    known(cache, activityQuery),
    ...(isConnected(cache) ? [known(cache, liveQuery)] : []),
  ])

const column = 'flex-col gap-3 md:gap-4'

/** The Now page: a status summary, then cards with the details. */
export function NowPage() {
  useTitle(texts.app.places.now)
  return (
    <div className="flex max-w-wide flex-col gap-3 p-3 md:gap-4">
      <Guarded>
        <StatusSummary />
      </Guarded>
      {/* Two columns on wide screens, else one column in order of importance. */}
      <div className={`flex ${column} xl:flex-row xl:items-start`}>
        <div className={`contents min-w-0 xl:flex xl:w-2/3 ${column}`}>
          <Guarded>
            <NeedsYou className="order-1" />
          </Guarded>
          <Guarded>
            <Agents className="order-2" />
          </Guarded>
        </div>
        <div className={`contents min-w-0 xl:flex xl:w-1/3 ${column}`}>
          <Guarded>
            <SpendCard className="order-3" />
          </Guarded>
          <Guarded>
            <Timeline className="order-4" />
          </Guarded>
        </div>
      </div>
    </div>
  )
}
