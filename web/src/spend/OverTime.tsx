import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { fineMoney, tokens, unknown, usd } from '../app/format'
import { limits } from '../texts/limits'
import { spend } from '../texts/spend'
import { type Bar, Bars, type ChartSeries } from '../ui/chart/Bars'
import { Swatch } from '../ui/chart/looks'
import { reach } from '../ui/chart/scale'
import { Select } from '../ui/Field'
import { initialsOf } from '../ui/hue'
import { Segments } from '../ui/Segments'
import { costText, Section, tokenText } from './Bits'
import { lineOf, quantity } from './headroom'
import { knownOf } from './ledger'
import { limitsQuery } from './limitQueries'
import { splitAll, type TimeSeries } from './queries'
import { type Go, groups } from './search'
import { keyOf, lookOf, type Measure, measured, namesOf, type PartId, type SplitBin } from './split'
import { isNothing, type Report } from './sums'
import { TimeTable } from './TimeTable'

const words = spend

interface Props {
  report: Report
  timeSeries: TimeSeries
  series: readonly PartId[]
  name: (id: PartId) => string
  measure: Measure
  view: 'chart' | 'table'
  go: Go
}

/** The period as a bar chart, or as a table of the same numbers. */
export function OverTime({ report, timeSeries, series, name, measure, view, go }: Props) {
  const split = useMemo(() => splitAll(timeSeries, series), [timeSeries, series])
  const by = words.by[report.group as 'agent'] ?? report.group
  return (
    <Section
      actions={
        <>
          <Select
            choices={groups.map(g => ({ value: g, label: words.by[g] }))}
            className="w-32"
            hideLabel
            label={words.by.label}
            onChange={e => go({ by: groups.find(g => g === e.target.value && g !== 'agent') }, true)}
            value={report.group}
          />
          <Segments
            choices={(['chart', 'table'] as const).map(v => ({ value: v, label: words.view[v] }))}
            label={words.view.label}
            onChange={v => go({ show: v === 'chart' ? undefined : v }, true)}
            value={view}
          />
        </>
      }
      title={words.overTime}
    >
      {view === 'chart' ? (
        <Chart by={by} measure={measure} name={name} report={report} series={series} split={split} />
      ) : (
        <TimeTable
          go={go}
          label={words.chartLabel(by)}
          measure={measure}
          name={name}
          report={report}
          series={series}
          split={split}
        />
      )}
    </Section>
  )
}

interface ChartProps extends Pick<Props, 'report' | 'series' | 'name' | 'measure'> {
  split: readonly SplitBin[]
  by: string
}

function Chart({ report, split, series, name, measure, by }: ChartProps) {
  const text = measure === 'cost' ? costText : tokenText
  const drawn = useMemo(() => {
    const list: ChartSeries[] = series.map((id, i) => ({
      id,
      label: name(id),
      look: lookOf(report.group, id, i),
      mark: report.group === 'agent' && keyOf(id) !== null ? initialsOf(name(id)) : undefined,
    }))
    const bins = split.map(s => s.bin)
    const bars: Bar[] = split.map((s, i) => {
      const { short, long } = namesOf(bins, i)
      return {
        id: s.bin.start,
        short,
        long: s.bin.running ? `${long}, ${words.running}` : long,
        running: s.bin.running ? words.running : undefined,
        parts: s.parts.map(a => measured(a, measure)),
        texts: s.parts.map(a => (isNothing(a) ? '' : text(a))),
        total:
          knownOf({ ...report, from: s.bin.start, to: s.bin.end }, Date.now()) === 'nothing'
            ? unknown
            : text(s.bin.sums),
        flag: measure === 'cost' && s.bin.sums.unpriced > 0 ? words.flag(s.bin.sums.unpriced) : undefined,
      }
    })
    return { list, bars }
  }, [report, split, series, name, measure, text])
  const known = useQuery(limitsQuery).data?.limits
  const line = known && lineOf(known, report, measure, reach(drawn.bars.map(b => b.parts)).most)
  return (
    <>
      {/* Beside the chart the groups' table is its legend; on a narrow screen that is further down. */}
      <p aria-hidden="true" className="flex flex-wrap gap-x-3 text-soft text-xs xl:hidden">
        {drawn.list.toReversed().map(s => (
          <span className="inline-flex max-w-36 items-center gap-1" key={s.id}>
            <Swatch look={s.look} />
            <bdi className="truncate">{s.label}</bdi>
          </span>
        ))}
      </p>
      <Bars
        bars={drawn.bars}
        format={measure === 'cost' ? axisMoney : axisTokens}
        help={words.chartHelp}
        label={words.chartLabel(by)}
        line={
          line && {
            value: line.value,
            label: limits.line(quantity(line.limit, line.limit.amount), line.limit.measure, line.limit.window),
          }
        }
        series={drawn.list}
      />
    </>
  )
}

const axisMoney = (v: bigint) => fineMoney(usd(v))
const axisTokens = (v: bigint) => tokens(Number(v))
