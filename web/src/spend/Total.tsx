import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import * as clock from '../app/clock'
import { dayIn } from '../app/days'
import { grouped, money, myZone, nanos } from '../app/format'
import { leads, useMe } from '../app/queries'
import { shortIn } from '../schedules/times'
import { spend } from '../texts/spend'
import { Icon } from '../ui/Icon'
import { ActiveRunsLine } from './ActiveRunsLine'
import { soFar, useActiveIn, withActive } from './activeRuns'
import { Money } from './Bits'
import { comparison, forecastText, perRun } from './compare'
import { Headroom } from './Headroom'
import { Info } from './Info'
import { type Days, dayCount } from './period'
import { monthName, rangeText, shortDay } from './split'
import { known, type Report } from './sums'

const words = spend

interface Props {
  report: Report
  days: Days
  today: string
  /** What is beside the total on a wide screen, and below it on a phone. */
  children: ReactNode
}

/** The total of a period, how it compares, and where the month is going. */
export function Total({ report, days, today, children }: Props) {
  const { total, forecast, zone } = report
  const active = useActiveIn(report)
  const withRuns = (usd: string) => soFar(active, { cost_usd: usd, unpriced_runs: 0, runs: 0 }).cost_usd ?? usd
  const whole = withActive(report, active, clock.now())
  const sum = whole.total.cost_usd
  const compared = comparison(report, sum, dayCount(days), days.last >= today)
  return (
    <section aria-label={words.total} className="flex flex-wrap items-start gap-x-12 gap-y-2">
      <div className="min-w-0">
        <p className="text-soft text-xs">
          {rangeText(days.first, days.last)}
          {zone !== myZone() && ` · ${zone}`}
        </p>
        <p className="font-semibold text-2xl" data-total="">
          <Money usd={sum} />
        </p>
        <p className="mb-1 flex items-center gap-1">
          <span className={compared ? '' : 'text-soft'}>{compared ?? words.compare.none}</span>
          <About report={report} />
        </p>
        {active.length > 0 && <ActiveRunsLine />}
        <Headroom />
      </div>
      <dl className="flex w-full gap-x-8 sm:w-auto sm:gap-x-10">
        {forecast && days.last >= today && nanos(forecast.cost_usd) !== 0n && (
          <Fact
            info={<Forecast begun={withRuns(forecast.so_far_usd)} of={forecast} report={report} />}
            name={words.forecast.name(monthName(forecast.from, zone))}
            note={words.forecast.by(shortDay(lastDay(forecast.to, zone)))}
          >
            <data value={forecast.cost_usd}>{words.forecast.about(forecastText(withRuns(forecast.cost_usd)))}</data>
          </Fact>
        )}
        <Fact name={words.runs}>{grouped(whole.total.runs)}</Fact>
        <Fact name={words.perRun}>
          <Money usd={perRun(whole)} />
        </Fact>
      </dl>
      {children}
      {total.unpriced_runs > 0 && <Unpriced runs={total.unpriced_runs} />}
    </section>
  )
}

interface FactProps {
  name: string
  note?: ReactNode
  info?: ReactNode
  children: ReactNode
}

function Fact({ name, note, info, children }: FactProps) {
  return (
    <div>
      <dt className="flex items-center gap-0.5 whitespace-nowrap text-soft text-xs">{name}</dt>
      <dd className="flex items-center gap-0.5 whitespace-nowrap font-medium text-base">
        {children}
        {info && <Info label={words.about(name)}>{info}</Info>}
      </dd>
      {note && <dd className="text-soft text-xs">{note}</dd>}
    </div>
  )
}

/** What the total is compared with, and what it consists of. Parts that are zero are left out. */
function About({ report }: { report: Report }) {
  const { previous, zone, total, ledger_begins_at: begins, from } = report
  const parts = known(total)
  const text = words.compare
  return (
    <Info label={words.about(words.total)}>
      {previous ? (
        <p>
          {text.with(
            money(previous.cost_usd),
            shortIn(previous.from, zone),
            shortIn(previous.to, zone),
            previous.to < from,
          )}
        </p>
      ) : (
        begins && <p>{text.noneText(shortIn(begins, zone))}</p>
      )}
      <Row help={words.known.runtimeHelp} name={words.known.runtime} value={<Money usd={parts.runtime} />} />
      {nanos(parts.estimated) !== 0n && (
        <Row help={words.known.estimatedHelp} name={words.known.estimated} value={<Money usd={parts.estimated} />} />
      )}
      {total.corrections > 0 && (
        <Row help={words.known.adjustmentsHelp} name={words.adjustments} value={grouped(total.corrections)} />
      )}
    </Info>
  )
}

function Row({ name, value, help }: { name: string; value: ReactNode; help: string }) {
  return (
    <div>
      <p className="flex justify-between gap-4 font-medium">
        <span>{name}</span>
        <span>{value}</span>
      </p>
      <p className="text-soft text-xs">{help}</p>
    </div>
  )
}

function Forecast({ begun, of, report }: { begun: string; of: NonNullable<Report['forecast']>; report: Report }) {
  const begins = report.ledger_begins_at
  return (
    <>
      <p>{words.forecast.help(money(begun), money(of.per_day_usd), of.days)}</p>
      {begins && Date.parse(begins) > Date.parse(of.from) && (
        <p className="text-soft">{words.begins(shortIn(begins, report.zone))}</p>
      )}
    </>
  )
}

/** Says that runs are missing from the total, and what to do. */
function Unpriced({ runs }: { runs: number }) {
  const may = leads(useMe().data)
  return (
    <p
      className="flex w-full flex-wrap items-center gap-x-2 rounded-md bg-attention-tint px-3 py-1 text-attention"
      role="status"
    >
      <Icon className="size-3.5" name="warning" />
      {words.known.unpriced(runs)}
      <Link
        className="font-medium underline"
        from="/spend"
        search={was => ({ ...was, part: 'prices' as const })}
        to="/spend"
      >
        {may ? words.known.setPrices : words.known.seePrices}
      </Link>
    </p>
  )
}

/** Returns the last day before a moment. */
const lastDay = (end: string, zone: string): string => dayIn(Date.parse(end) - 1, zone)
