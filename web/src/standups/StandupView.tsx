import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { addDays } from '../app/days'
import { useKeys } from '../app/keys'
import { standups } from '../texts/standups'
import { Tabs } from '../ui/Tabs'
import { sayFailed } from '../ui/toast'
import { Header } from './Header'
import { ProgressOf } from './Progress'
import { dayAddress, latestQuery, nextQuery } from './queries'
import { Results } from './Results'
import { NoGateway } from './RunButton'
import { SubmitReport } from './SubmitReport'
import type { Go, StandupSearch } from './search'
import { type Brief, type Standup, verbOf } from './standup'
import { Transcript } from './Transcript'
import { useAgentName } from './useAgentName'
import { useStableScroll } from './useStableScroll'

const words = standups

interface Props {
  standup: Standup
  search: StandupSearch
  go: Go
}

/** A standup with all its parts. While it grows, the reading position stays. */
export function StandupView({ standup: s, search, go }: Props) {
  const nameOf = useAgentName(s)
  const navigate = useNavigate()
  const { scroller, onScroll } = useStableScroll(s.version)
  const part = search.part ?? 'reports'
  const cache = useQueryClient()
  /** Opens the older or newer standup, if there is one. */
  const goTo = async (asked: Promise<Brief | null>) => {
    const found = await asked.catch(err => sayFailed(err))
    if (found) void navigate({ to: '/standups', search: dayAddress(s.team, found.date) })
  }
  const older = () => void goTo(cache.query(latestQuery(s.team, addDays(s.date, -1))))
  const newer = () => void goTo(cache.query(nextQuery(s.team, addDays(s.date, 1))))
  useKeys([
    { keys: 'j', label: words.keys.older, run: older },
    { keys: 'k', label: words.keys.newer, run: newer },
    { keys: 'v', label: words.keys.tab, run: () => go({ part: part === 'reports' ? 'transcript' : undefined }, true) },
  ])
  const running = s.status === 'running'
  const [begun, setBegun] = useState(running)
  if (running && !begun) setBegun(true)
  // The dialog stays open when the standup ends, so that no text is lost.
  const submitting = begun ? s.reports.find(r => r.agent_id === search.file) : undefined
  return (
    <div
      ref={scroller}
      className="standup-scroller relative min-h-0 grow overflow-auto [overflow-anchor:none] md:scroll-pt-16"
      onScroll={onScroll}
    >
      <div className="flex max-w-page flex-col gap-3 px-3 pb-10">
        <Header
          onRemoved={() => void navigate({ to: '/standups', search: dayAddress(s.team), replace: true })}
          standup={s}
        />
        {verbOf(s) && <NoGateway />}
        <ProgressOf nameOf={nameOf} standup={s} />
        <Tabs
          label={words.tabs.label}
          onChange={next => go({ part: next === 'reports' ? undefined : next }, true)}
          tabs={[
            {
              id: 'reports',
              label: words.tabs.reports,
              panel: () => <Results go={go} nameOf={nameOf} search={search} standup={s} />,
            },
            {
              id: 'transcript',
              label: words.tabs.transcript,
              count: s.transcript.length,
              panel: () => <Transcript nameOf={nameOf} scroller={scroller} standup={s} />,
            },
          ]}
          value={part}
        />
      </div>
      {submitting && (
        <SubmitReport
          agent={submitting.agent_id}
          name={nameOf(submitting.agent_id)}
          onClose={() => go({ file: undefined }, true)}
          standup={s}
        />
      )}
    </div>
  )
}
