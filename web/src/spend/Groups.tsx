import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { grouped } from '../app/format'
import { leads, useMe } from '../app/queries'
import { spend } from '../texts/spend'
import { strokeOf } from '../ui/chart/looks'
import { Sparkline } from '../ui/Gauge'
import { hueOf } from '../ui/hue'
import { type NumberColumn, NumberTable } from '../ui/NumberTable'
import { Cost, Count, CsvButton, GroupName, Money, Section, useNames } from './Bits'
import { tableOf } from './download'
import type { Ask } from './period'
import { newPriceId } from './prices'
import type { TimeSeries } from './queries'
import { keyOf, type PartId, partId } from './split'
import { amountsOf, classes, costOf, type Report, type Share, tokensOf } from './sums'

const words = spend

/** The groups of a report, with the same rows as the CSV file. */
export function Groups({ report, ask, timeSeries }: { report: Report; ask: Ask; timeSeries: TimeSeries }) {
  const cache = useQueryClient()
  const name = useNames(report.group)
  const mayPrice = leads(useMe().data)
  const title = words.by[report.group as 'agent'] ?? report.group
  const columns = useColumns(report, name, timeSeries)
  return (
    <Section
      actions={
        <CsvButton
          label={words.csvOf(title)}
          name={`spend-by-${report.group}-${ask.from}-${ask.to}.csv`}
          text={() => tableOf(cache, ask, report.group)}
        />
      }
      title={title}
    >
      <NumberTable
        columns={
          report.group === 'model' && mayPrice && report.total.unpriced_runs > 0
            ? [...columns, pricing(ask.from)]
            : columns
        }
        idOf={partId}
        label={title}
        rows={report.groups}
      />
    </Section>
  )
}

function useColumns(report: Report, name: (id: PartId) => string, timeSeries: TimeSeries): NumberColumn<Share>[] {
  const all = amountsOf(report.total)
  return [
    {
      id: 'name',
      label: words.group[report.group] ?? report.group,
      cell: g => <GroupName group={report.group} id={partId(g)} name={name(partId(g))} />,
      foot: words.total,
    },
    { id: 'cost', label: words.cost, cell: g => <Cost of={amountsOf(g)} />, foot: <Cost of={all} /> },
    { id: 'share', label: words.share, cell: g => shareOf(g, report) },
    ...(timeSeries.bins.length > 1
      ? [
          {
            id: 'trend',
            label: words.trend,
            left: true,
            cell: (g: Share) => (
              <Sparkline
                label={words.trendOf(name(partId(g)))}
                values={trendOf(timeSeries, partId(g))}
                {...(report.group === 'agent' && g.key ? { stroke: strokeOf(hueOf(g.key)) } : {})}
              />
            ),
          },
        ]
      : []),
    {
      id: 'estimated',
      label: words.estimatedCost,
      cell: g => <Money usd={g.estimated_usd} />,
      foot: <Money usd={report.total.estimated_usd} />,
    },
    { id: 'runs', label: words.runs, cell: g => grouped(g.runs), foot: grouped(all.runs) },
    {
      id: 'unpriced',
      label: words.unpricedRuns,
      cell: g => <span className={g.unpriced_runs > 0 ? 'text-attention' : ''}>{grouped(g.unpriced_runs)}</span>,
      foot: grouped(all.unpriced),
    },
    { id: 'corrections', label: words.adjustments, cell: g => grouped(g.corrections), foot: grouped(all.corrections) },
    ...classes.map(c => ({
      id: c,
      label: words.tokens[c],
      cell: (g: Share) => <Count of={g.tokens[c]} />,
      foot: <Count of={all.tokens[c]} />,
    })),
  ]
}

/** Returns the group's share of the cost; empty without a price. */
function shareOf(g: Share, report: Report): string {
  const all = amountsOf(report.total).cost
  if (g.cost_usd === null || all <= 0n) return '–'
  const mille = Number((amountsOf(g).cost * 1000n) / all)
  return `${(mille / 10).toFixed(1)} %`
}

/** Returns the group's trend in dollars, or in tokens if it has no prices. */
function trendOf(timeSeries: TimeSeries, id: PartId): number[] {
  const own = timeSeries.parts.map(parts => parts.get(id))
  const priced = own.some(a => a && costOf(a) !== null && a.cost !== 0n)
  return own.map(a => (a ? (priced ? Number(a.cost) / 1e9 : tokensOf(a.tokens)) : 0))
}

/** Links to the form for a missing price. */
const pricing = (from: string): NumberColumn<Share> => ({
  id: 'price',
  label: words.prices.fields.actions,
  cell: g => {
    const model = keyOf(partId(g))
    return g.unpriced_runs > 0 && model !== null ? (
      <Link
        className="text-accent hover:underline"
        search={was => ({ ...was, part: 'prices' as const, price: newPriceId(model, from) })}
        from="/spend"
        to="/spend"
      >
        {words.known.setPrices}
      </Link>
    ) : null
  },
})
