import { useState } from 'react'
import { grouped, usd } from '../app/format'
import { spend } from '../texts/spend'
import { Button } from '../ui/Button'
import { fillOf, type Look, strokeOf } from '../ui/chart/looks'
import { Sparkline } from '../ui/Gauge'
import { type NumberColumn, NumberTable } from '../ui/NumberTable'
import { Cost, Count, GroupName, Money, Section } from './Bits'
import { knownOf } from './ledger'
import type { TimeSeries } from './queries'
import { type Bin, lookOf, type Measure, measured, namesOf, type PartId, partId } from './split'
import {
  amountsOf,
  classes,
  costOf,
  isNothing,
  nothing,
  type Report,
  roundedParts,
  type Share,
  sharesOf,
  tokensOf,
} from './sums'

const words = spend
const most = 12

interface Props {
  report: Report
  timeSeries: TimeSeries
  /** The groups with a color of their own. */
  series: readonly PartId[]
  name: (id: PartId) => string
  measure: Measure
}

/** The groups of a report, most expensive first. The CSV file has the same rows. */
export function Groups(props: Props) {
  const { report, measure } = props
  const [all, setAll] = useState(false)
  const title = words.by[report.group as 'agent'] ?? report.group
  const columns = columnsOf(props)
  const rows = inOrder(report.groups, measure)
  const cut = !all && rows.length > most + 1
  return (
    <Section title={title}>
      <NumberTable columns={columns} idOf={partId} label={title} rows={cut ? rows.slice(0, most) : rows} />
      {cut && (
        <Button className="self-start" look="quiet" onClick={() => setAll(true)}>
          {words.showAll(rows.length)}
        </Button>
      )}
      {all && report.groups.some(g => g.rest) && <p className="text-soft text-xs">{words.rest}</p>}
    </Section>
  )
}

/** Sorts by what the chart measures. Usage without a group comes last, because there is nothing to act on. */
const inOrder = (groups: readonly Share[], measure: Measure): Share[] =>
  [...groups].sort((a, b) => {
    const less = measured(amountsOf(b), measure) - measured(amountsOf(a), measure)
    return Number(a.key === null) - Number(b.key === null) || (less > 0n ? 1 : less < 0n ? -1 : 0)
  })

/** Returns the columns. Those that would be zero in every row are left out. */
function columnsOf({ report, name, timeSeries, series, measure }: Props): NumberColumn<Share>[] {
  const all = amountsOf(report.total)
  const costs = roundedParts(
    all.cost,
    report.groups.map(g => amountsOf(g).cost),
  ).map(usd)
  const shares = sharesOf(report.groups.map(g => measured(amountsOf(g), measure)))
  const look = (g: Share): Look => lookOf(report.group, partId(g), series.indexOf(partId(g)))
  const trends = timeSeries.bins.filter(b => !b.running).length > 2
  const byWork = ['task', 'job', 'project'].includes(report.group)
  const columns: (NumberColumn<Share> | false)[] = [
    {
      id: 'name',
      label: words.group[report.group] ?? report.group,
      cell: g => (
        <GroupName assignee={g.assignee_id} group={report.group} id={partId(g)} look={look(g)} name={name(partId(g))} />
      ),
      foot: words.total,
    },
    {
      id: 'cost',
      label: words.cost,
      cell: g => <Cost of={amountsOf(g)} shown={costs[report.groups.indexOf(g)]} />,
      foot: <Cost of={all} />,
    },
    {
      id: 'share',
      label: words.share,
      left: true,
      cell: g => (
        <ShareBar
          look={look(g)}
          part={measure === 'cost' && g.cost_usd === null ? null : (shares[report.groups.indexOf(g)] ?? null)}
          some={measured(amountsOf(g), measure) > 0n}
        />
      ),
      foot: shares.some(s => s !== 0) ? '100.0%' : '',
    },
    byWork && { id: 'last', label: words.lastRun, wide: true, left: true, cell: g => lastRun(timeSeries, partId(g)) },
    trends && {
      id: 'trend',
      label: words.trend,
      wide: true,
      left: true,
      cell: g =>
        g.active ? null : (
          <Trend look={look(g)} name={name(partId(g))} values={trendOf(report, timeSeries, partId(g))} />
        ),
    },
    { id: 'runs', label: words.runs, wide: true, cell: g => grouped(g.runs), foot: grouped(all.runs) },
    all.estimated !== 0n && {
      id: 'estimated',
      label: words.known.estimated,
      wide: true,
      cell: g => <Money usd={g.estimated_usd} />,
      foot: <Money usd={report.total.estimated_usd} />,
    },
    !byWork && {
      id: 'tokens',
      label: words.tokens.title,
      wide: true,
      cell: g => <Count of={tokensOf(g.tokens)} />,
      foot: <Count of={tokensOf(all.tokens)} />,
    },
    ...(measure === 'tokens' ? classes.filter(c => all.tokens[c] !== 0) : []).map(c => ({
      id: c,
      label: words.tokens[c],
      wide: true as const,
      cell: (g: Share) => <Count of={g.tokens[c]} />,
      foot: <Count of={all.tokens[c]} />,
    })),
  ]
  return columns.filter(c => c !== false)
}

/** A share in percent; null if it is unknown. `some` is whether it is more than nothing. */
function ShareBar({ part, some, look }: { part: number | null; some: boolean; look: Look }) {
  if (part === null) return <span className="text-soft">–</span>
  return (
    <span className="inline-flex items-center gap-2">
      <svg aria-hidden="true" className="h-1.5 w-10 rounded-sm" preserveAspectRatio="none" viewBox="0 0 1 1">
        <rect className="fill-hover" height="1" width="1" />
        <rect className={fillOf(look.hue)} height="1" width={Math.max(0, part) / 100} />
      </svg>
      {part === 0 && some ? '<0.1%' : `${part.toFixed(1)}%`}
    </span>
  )
}

const Trend = ({ look, name, values }: { look: Look; name: string; values: number[] }) => (
  <Sparkline
    className="h-5 w-16"
    label={words.trendOf(name)}
    stroke={look.hue ? strokeOf(look.hue) : 'stroke-soft'}
    values={values}
  />
)

/** Returns the group's trend over full and known bars in dollars, or in tokens if it has no prices. */
function trendOf(report: Report, { bins, parts }: TimeSeries, id: PartId): number[] {
  const known = (b: Bin) => knownOf({ ...report, from: b.start, to: b.end }, Date.now()) !== 'nothing'
  const own = bins.flatMap((bin, i) => (bin.running || !known(bin) ? [] : [parts[i]?.get(id) ?? nothing]))
  const priced = own.some(a => costOf(a) !== null && a.cost !== 0n)
  return own.map(a => (priced ? Number(a.cost) / 1e9 : tokensOf(a.tokens)))
}

/** Returns the last bar in which the group has usage. */
function lastRun({ bins, parts }: TimeSeries, id: PartId): string {
  const at = parts.findLastIndex(p => {
    const own = p.get(id)
    return own && !isNothing(own)
  })
  return at < 0 ? '–' : namesOf(bins, at).short
}
