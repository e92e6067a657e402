import { useMemo } from 'react'
import { money, tokens, unknown } from '../app/format'
import { spend } from '../texts/spend'
import { type Bar, Bars, type ChartSeries } from '../ui/chart/Bars'
import type { Look } from '../ui/chart/looks'
import { hueOf } from '../ui/hue'
import { Segments } from '../ui/Segments'
import { CsvButton, costText, Section, tokenText, useNames } from './Bits'
import { writeCsv } from './csv'
import { knownOf } from './ledger'
import type { Ask } from './period'
import { splitAll, type TimeSeries } from './queries'
import type { Go } from './search'
import { keyOf, type Measure, measured, namesOf, type PartId, partId, type SplitBin, seriesOf } from './split'
import { type Amounts, amountsOf, isNothing, nothing, plus, type Report, usd } from './sums'
import { TimeTable } from './TimeTable'

const words = spend

interface Props {
  report: Report
  timeSeries: TimeSeries
  ask: Ask
  measure: Measure
  view: 'chart' | 'table'
  go: Go
}

/** The period as a bar chart, or as a table of the same numbers. */
export function OverTime({ report, timeSeries, ask, measure, view, go }: Props) {
  const name = useNames(report.group)
  const series = useMemo(() => seriesOf(report.groups, measure), [report.groups, measure])
  const split = useMemo(() => splitAll(timeSeries, series), [timeSeries, series])
  const by = words.by[report.group as 'agent'] ?? report.group
  const csv = () => Promise.resolve(writeCsv(lines(split, series, measure)))
  return (
    <Section
      actions={
        <>
          <Segments
            choices={(['chart', 'table'] as const).map(v => ({ value: v, label: words.view[v] }))}
            label={words.view.label}
            onChange={v => go({ show: v === 'chart' ? undefined : v }, true)}
            value={view}
          />
          <CsvButton
            label={words.csvOf(words.overTime)}
            name={`spend-over-time-${report.group}-${ask.from}-${ask.to}.csv`}
            text={csv}
          />
        </>
      }
      title={words.overTime}
    >
      {view === 'chart' && (
        <Chart by={by} measure={measure} name={name} report={report} series={series} split={split} />
      )}
      {/* While the chart is shown, the table is there only for screen readers. */}
      <div className={view === 'chart' ? 'sr-only' : 'contents'}>
        <TimeTable
          focusable={view === 'table'}
          go={go}
          label={words.chartLabel(by)}
          measure={measure}
          name={name}
          report={report}
          series={series}
          split={split}
        />
      </div>
    </Section>
  )
}

/** The looks of groups that are no agents. */
const order = [1, 7, 8, 4, 5, 6] as const
const patterns = [0, 1, 2, 3, 4, 5] as const

/** Agents have their own colors everywhere. "No group" and "all others" are gray. */
export function lookOf(group: string, id: PartId, i: number): Look {
  const key = keyOf(id)
  if (key === null) return { hue: null, pattern: id === 'rest' ? 6 : 0 }
  return { hue: group === 'agent' ? hueOf(key) : (order[i] ?? null), pattern: patterns[i] ?? 6 }
}

interface ChartProps {
  report: Report
  split: readonly SplitBin[]
  series: readonly PartId[]
  name: (id: PartId) => string
  measure: Measure
  by: string
}

function Chart({ report, split, series, name, measure, by }: ChartProps) {
  const text = measure === 'cost' ? costText : tokenText
  const drawn = useMemo(() => {
    const list: ChartSeries[] = series.map((id, i) => ({
      id,
      label: name(id),
      look: lookOf(report.group, id, i),
    }))
    const bins = split.map(s => s.bin)
    const bars: Bar[] = split.map((s, i) => {
      const { short, long } = namesOf(bins, i)
      return {
        id: s.bin.start,
        short: s.bin.running ? `${short} …` : short,
        long: s.bin.running ? `${long} ${words.running}` : long,
        parts: s.parts.map(a => measured(a, measure)),
        texts: s.parts.map(a => (isNothing(a) ? '' : text(a))),
        total:
          knownOf({ ...report, from: s.bin.start, to: s.bin.end }, Date.now()) === 'nothing'
            ? unknown
            : text(s.bin.sums),
        flag: measure === 'cost' && s.bin.sums.unpriced > 0 ? words.flag(s.bin.sums.unpriced) : undefined,
      }
    })
    return { list, bars, totals: groupTotals(report, series).map(text) }
  }, [report, split, series, name, measure, text])
  return (
    <Bars
      bars={drawn.bars}
      flagged={words.flagged}
      format={v => (measure === 'cost' ? money(usd(v)) : tokens(Number(v)))}
      help={words.chartHelp}
      label={words.chartLabel(by)}
      series={drawn.list}
      totals={drawn.totals}
      whole={{ name: words.total, total: text(amountsOf(report.total)) }}
    />
  )
}

/** Returns the total of each series, from the report's groups. */
function groupTotals(report: Report, series: readonly PartId[]): Amounts[] {
  const sums = series.map(() => nothing)
  for (const g of report.groups) {
    const own = series.indexOf(partId(g))
    const i = own >= 0 ? own : series.indexOf('rest')
    const was = sums[i]
    if (was) sums[i] = plus(was, amountsOf(g))
  }
  return sums
}

/** Returns the CSV rows of the chart with exact values: one row per bar and series. */
function lines(split: readonly SplitBin[], series: readonly PartId[], measure: Measure): string[][] {
  const value = (a: Amounts) => (measure === 'cost' ? usd(a.cost) : String(measured(a, measure)))
  const unit = measure === 'cost' ? 'cost_usd' : 'tokens'
  const names = series.map(id => (id === 'rest' ? '(all others)' : id === 'none' ? '' : id.slice(1)))
  return [
    ['from', 'to', unit, 'runs', 'unpriced_runs', ...names.map(n => `${unit} ${n}`.trim())],
    ...split.map(({ bin, parts }) => [
      bin.start,
      bin.end,
      bin.sums.unpriced > 0 && !bin.sums.priced ? '' : value(bin.sums),
      String(bin.sums.runs),
      String(bin.sums.unpriced),
      ...parts.map(value),
    ]),
  ]
}
