import { type QueryClient, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import * as clock from '../app/clock'
import { configQuery, useConfig } from '../app/config'
import { addDays, dayIn } from '../app/days'
import { useDrawn } from '../app/idle'
import { useKeys } from '../app/keys'
import { known } from '../app/prefetch'
import { queries } from '../app/queries'
import { useTitle } from '../app/title'
import { useGo } from '../app/useGo'
import { shortIn } from '../schedules/times'
import { texts } from '../texts'
import { spend } from '../texts/spend'
import { Button, buttonClass } from '../ui/Button'
import { Tabs } from '../ui/Tabs'
import { Answer, Empty, Skeleton } from '../ui/Views'
import { activeRunsQuery, useActiveIn, withActive } from './activeRuns'
import { useNames } from './Bits'
import { Groups } from './Groups'
import { IdleLine } from './IdleLine'
import { LimitsTab } from './Limits'
import { keptUntil, knownOf } from './ledger'
import { OverTime } from './OverTime'
import { PricesTab } from './Prices'
import { type Ask, askOf, dayCount, daysOf } from './period'
import { useTimeSeries } from './queries'
import { reportQuery } from './report'
import type { Go, SpendSearch, tabs } from './search'
import { seriesOf } from './split'
import { amountsOf, isNothing, type Report } from './sums'
import { Toolbar } from './Toolbar'
import { TopSessions } from './TopSessions'
import { Total } from './Total'

const spendRoute = getRouteApi('/frame/spend')

const words = spend

/** Prefetches the report. */
export async function ask(cache: QueryClient, search: SpendSearch): Promise<void> {
  if (search.part && search.part !== 'spend') return
  const zone = search.zone ?? (await known(cache, configQuery))?.timezone
  if (!zone) return
  const period = askOf(daysOf(search, dayIn(clock.now(), zone)), zone)
  const by = search.by ?? 'agent'
  // Otherwise agents are named by their IDs at first.
  await Promise.all([known(cache, reportQuery(period, by)), by === 'agent' && known(cache, queries.agents)])
}

/** The Spend page: a period of the ledger, and the prices for estimates. */
export function SpendPage() {
  const search = spendRoute.useSearch()
  const go: Go = useGo('/spend')
  const tab: (typeof tabs)[number] = search.part ?? 'spend'
  useTitle(tab === 'spend' ? undefined : words.tabs[tab], texts.app.places.spend)
  return (
    <div className="relative flex max-w-wide flex-col px-3 pt-1.5 pb-6">
      <Tabs
        label={words.tabs.label}
        onChange={next => go({ part: next === 'spend' ? undefined : next, price: undefined })}
        tabs={[
          { id: 'spend', label: words.tabs.spend, panel: () => <Spend go={go} search={search} /> },
          { id: 'limits', label: words.tabs.limits, panel: () => <LimitsTab /> },
          { id: 'prices', label: words.tabs.prices, panel: () => <PricesTab go={go} search={search} /> },
        ]}
        value={tab}
      />
    </div>
  )
}

function Spend({ search, go }: { search: SpendSearch; go: Go }) {
  const config = useConfig()
  // The default time zone is the server's.
  if (search.zone) return <InZone go={go} search={search} service={config.data?.timezone} zone={search.zone} />
  return (
    <Answer of={config} what={words.what}>
      {({ timezone }) => <InZone go={go} search={search} service={timezone} zone={timezone} />}
    </Answer>
  )
}

interface InZoneProps {
  search: SpendSearch
  go: Go
  zone: string
  service: string | undefined
}

function InZone({ search, go, zone, service }: InZoneProps) {
  const today = clock.useTicking(now => dayIn(now, zone))
  const days = daysOf(search, today)
  const period = askOf(days, zone)
  const by = search.by ?? 'agent'
  const asked = useQuery(reportQuery(period, by))
  const active = useActiveIn(asked.data ?? { to: '' })
  const activeUnknown = useQuery(activeRunsQuery).isPending && Date.parse(asked.data?.to ?? '') > clock.now()
  useKeys([
    {
      keys: 'v',
      label: words.keys.view,
      run: () => go({ show: search.show === 'table' ? undefined : 'table' }, true),
    },
  ])
  const wider = () => go({ period: 'days', from: addDays(today, -89), to: today })
  return (
    <div className="flex min-w-0 flex-col gap-5">
      <Toolbar ask={period} days={days} go={go} search={search} service={service} today={today} />
      <Answer of={asked} what={words.what}>
        {report =>
          isNothing(amountsOf(report.total)) && activeUnknown ? (
            <Skeleton label={`${texts.ui.loading} ${words.what}`} />
          ) : isNothing(amountsOf(report.total)) && active.length === 0 ? (
            <Empty
              action={
                days.first > addDays(days.last, -89) ? (
                  <Button onClick={wider}>{words.emptyAction}</Button>
                ) : (
                  <Link className={buttonClass()} to="/standups">
                    {words.emptyStandups}
                  </Link>
                )
              }
              icon="spend"
              title={knownOf(report, asked.dataUpdatedAt) === 'nothing' ? words.notKnown : words.empty}
            >
              {report.ledger_begins_at && knownOf(report, asked.dataUpdatedAt) === 'nothing'
                ? words.notKnownText(shortIn(report.ledger_begins_at, zone))
                : words.emptyText}
            </Empty>
          ) : (
            <>
              <Total days={days} report={report} today={today}>
                {/* It is about 7 days, which would be more than all of a shorter period. */}
                {dayCount(days) >= 7 && <IdleLine week={(search.period ?? 'week') === 'week' ? report : null} />}
              </Total>
              <Missing report={report} zone={zone} />
              <Parts go={go} active={active} ended={report} search={search} />
              <Sessions ask={period} />
            </>
          )
        }
      </Answer>
    </div>
  )
}

/** Says which part of the period the ledger doesn't cover. */
function Missing({ report, zone }: { report: Report; zone: string }) {
  const { ledger_begins_at: begins, series } = report
  const now = Date.now()
  const late = series.some(s => knownOf({ ...report, from: s.start, to: s.end }, now) === 'nothing')
  const since = keptUntil(report)
  const said = [
    begins && late && words.begins(shortIn(begins, zone)),
    since !== null && words.least(shortIn(since, zone)),
  ].filter(Boolean)
  return said.length > 0 && <p className="text-soft text-xs">{said.join(' ')}</p>
}

interface PartsProps {
  ended: Report
  active: ReturnType<typeof useActiveIn>
  search: SpendSearch
  go: Go
}

/** The period over time and by group, with active runs. The groups' table is also the legend of the chart. */
function Parts({ ended, active, search, go }: PartsProps) {
  const report = useMemo(() => withActive(ended, active, clock.now()), [ended, active])
  const measure = search.measure ?? 'cost'
  const view = search.show ?? 'chart'
  const timeSeries = useTimeSeries(report)
  const name = useNames(report)
  const series = useMemo(() => seriesOf(report.groups, measure), [report.groups, measure])
  const shared = { report, timeSeries, series, name, measure }
  return (
    <div
      className={`grid grid-cols-1 gap-x-8 gap-y-6 ${view === 'chart' ? 'xl:grid-cols-[5fr_6fr]' : series.length < 5 ? 'xl:grid-cols-[6fr_5fr]' : ''}`}
    >
      <OverTime {...shared} go={go} view={view} />
      <Groups key={report.group} {...shared} />
    </div>
  )
}

/** A separate query, so that its failure doesn't affect the rest of the page. */
const Sessions = ({ ask }: { ask: Ask }) => (
  <Answer of={useQuery({ ...reportQuery(ask, 'session'), enabled: useDrawn() })} rows={3} what={words.what}>
    {report => <TopSessions ended={report} />}
  </Answer>
)
