import { type QueryClient, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import * as clock from '../app/clock'
import { configQuery, useConfig } from '../app/config'
import { addDays, dayIn } from '../app/days'
import { moment } from '../app/format'
import { useDrawn } from '../app/idle'
import { useKeys } from '../app/keys'
import { known } from '../app/prefetch'
import { useTitle } from '../app/title'
import { useGo } from '../app/useGo'
import { texts } from '../texts'
import { spend } from '../texts/spend'
import { Button, buttonClass } from '../ui/Button'
import { Tabs } from '../ui/Tabs'
import { Answer, Empty, Partial } from '../ui/Views'
import { ActiveRunsLine } from './ActiveRunsLine'
import { Groups } from './Groups'
import { keptUntil, knownOf } from './ledger'
import { OverTime } from './OverTime'
import { PricesTab } from './Prices'
import { type Ask, askOf, daysOf } from './period'
import { useTimeSeries } from './queries'
import { reportQuery } from './report'
import type { Go, SpendSearch, tabs } from './search'
import { amountsOf, isNothing, type Report } from './sums'
import { Toolbar } from './Toolbar'
import { TopSessions } from './TopSessions'
import { Total } from './Total'

const spendRoute = getRouteApi('/frame/spend')

const words = spend

/** Prefetches the report. */
export async function ask(cache: QueryClient, search: SpendSearch): Promise<void> {
  if (search.part === 'prices') return
  const zone = search.zone ?? (await known(cache, configQuery))?.timezone
  if (!zone) return
  const period = askOf(daysOf(search, dayIn(clock.now(), zone)), zone)
  await known(cache, reportQuery(period, search.by ?? 'agent'))
}

/** The Spend page: a period of the ledger, and the prices for estimates. */
export function SpendPage() {
  const search = spendRoute.useSearch()
  const go: Go = useGo('/spend')
  const tab: (typeof tabs)[number] = search.part ?? 'spend'
  useTitle(tab === 'prices' ? words.tabs.prices : undefined, texts.app.places.spend)
  return (
    <div className="relative mx-auto flex max-w-[120rem] flex-col px-3 pt-1.5 pb-6">
      <Tabs
        label={words.tabs.label}
        onChange={next => go({ part: next === 'spend' ? undefined : next, price: undefined })}
        tabs={[
          { id: 'spend', label: words.tabs.spend, panel: () => <Spend go={go} search={search} /> },
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
  useKeys([
    {
      keys: 'v',
      label: words.keys.view,
      run: () => go({ show: search.show === 'table' ? undefined : 'table' }, true),
    },
  ])
  const activeRuns = days.last >= today && <ActiveRunsLine />
  const wider = () => go({ period: 'days', from: addDays(today, -89), to: today })
  return (
    <div className="flex min-w-0 flex-col gap-5">
      <Toolbar days={days} go={go} search={search} service={service} today={today} zone={zone} />
      <Answer of={asked} what={words.what}>
        {report =>
          isNothing(amountsOf(report.total)) ? (
            <>
              {activeRuns}
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
                  ? words.notKnownText(moment(report.ledger_begins_at, zone))
                  : words.emptyText}
              </Empty>
            </>
          ) : (
            <>
              {report.ledger_begins_at && beginsLate(report, asked.dataUpdatedAt) && (
                <Partial>{words.begins(moment(report.ledger_begins_at, zone))}</Partial>
              )}
              <Kept report={report} zone={zone} />
              <Total days={days} activeRuns={activeRuns} report={report} />
              {report.groups.some(g => g.rest) && <Partial>{words.rest}</Partial>}
              <Parts ask={period} go={go} report={report} search={search} />
              <Sessions ask={period} />
            </>
          )
        }
      </Answer>
    </div>
  )
}

function Kept({ report, zone }: { report: Report; zone: string }) {
  const since = keptUntil(report)
  return since === null ? null : <Partial>{words.least(moment(since, zone))}</Partial>
}

/** Returns whether tracking started after the first bar. */
const beginsLate = (report: Report, now: number): boolean =>
  report.series.some(s => knownOf({ ...report, from: s.start, to: s.end }, now) === 'nothing')

/** The period over time and by group. */
function Parts({ report, ask, search, go }: { report: Report; ask: Ask; search: SpendSearch; go: Go }) {
  const timeSeries = useTimeSeries(report)
  return (
    <>
      <OverTime
        ask={ask}
        timeSeries={timeSeries}
        go={go}
        measure={search.measure ?? 'cost'}
        report={report}
        view={search.show ?? 'chart'}
      />
      <Groups ask={ask} timeSeries={timeSeries} report={report} />
    </>
  )
}

/** A separate query, so that its failure doesn't affect the rest of the page. */
const Sessions = ({ ask }: { ask: Ask }) => (
  <Answer of={useQuery({ ...reportQuery(ask, 'session'), enabled: useDrawn() })} rows={3} what={words.what}>
    {report => <TopSessions ask={ask} report={report} />}
  </Answer>
)
