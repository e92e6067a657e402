import { useNavigate } from '@tanstack/react-router'
import { useTitle } from '../app/title'
import { texts } from '../texts'
import { Agents } from './Agents'
import { Failures } from './Failures'
import { LastStandup } from './LastStandup'
import { Money } from './Money'
import { NeedsYou } from './NeedsYou'
import { Ribbon } from './Ribbon'
import { nowRoute } from './route'
import { Sentence } from './Sentence'

/** Is all well, and what needs me? The facts first, then what to do about them. */
export function NowPage() {
  const { runs } = nowRoute.useSearch()
  const navigate = useNavigate({ from: '/' })
  useTitle(texts.app.places.now)
  return (
    <div className="mx-auto flex max-w-[90rem] flex-col gap-3 p-3 md:gap-4 md:p-4">
      <Sentence />
      <div className="grid gap-3 md:gap-4 xl:grid-cols-3">
        <NeedsYou className="xl:col-span-2" />
        <div className="flex flex-col gap-3 md:gap-4 xl:col-start-3 xl:row-span-3 xl:row-start-1">
          <Money className="" />
          <LastStandup className="" />
          <Failures className="" />
        </div>
        <Agents className="xl:col-span-2" />
        <Ribbon
          className="self-start xl:col-span-2"
          onTable={table => void navigate({ search: table ? { runs: 'table' } : {}, replace: true })}
          table={runs === 'table'}
        />
      </div>
    </div>
  )
}
