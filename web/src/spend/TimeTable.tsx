import { useMemo } from 'react'
import { grouped, unknown } from '../app/format'
import { spend } from '../texts/spend'
import { type NumberColumn, NumberTable } from '../ui/NumberTable'
import { Cost, Count } from './Bits'
import { knownOf } from './ledger'
import type { Go } from './search'
import { daysOfBin, type Measure, namesOf, type PartId, type SplitBin } from './split'
import { type Amounts, amountsOf, isNothing, nothing, type Report, tokensOf, total } from './sums'

const words = spend

interface Props {
  label: string
  report: Report
  split: readonly SplitBin[]
  series: readonly PartId[]
  name: (id: PartId) => string
  measure: Measure
  go: Go
  /** False while the table is only for screen readers. Then nothing in it can be focused. */
  focusable: boolean
}

interface Row {
  of: SplitBin
  name: string
}

/** The numbers of the chart, with a total row. */
export function TimeTable({ label, report, split, series, name, measure, go, focusable }: Props) {
  const rows = useMemo(() => {
    const bins = split.map(s => s.bin)
    return split.map((of, i): Row => ({ of, name: namesOf(bins, i).long }))
  }, [split])
  const value = (a: Amounts) => (measure === 'cost' ? <Cost of={a} /> : <Count of={tokensOf(a.tokens)} />)
  // Groups without runs show a dash, because zero would look like a price.
  const cell = (a: Amounts) => (isNothing(a) ? <span className="text-soft">–</span> : value(a))
  const isUnknown = ({ of: { bin } }: Row) =>
    knownOf({ ...report, from: bin.start, to: bin.end }, Date.now()) === 'nothing'
  const unit = split[0]?.bin.unit ?? 'day'
  const columns: NumberColumn<Row>[] = [
    {
      id: 'time',
      label: words.time[unit],
      foot: words.total,
      cell: row => (
        <>
          <Time focusable={focusable} go={go} row={row} />
          {row.of.bin.running && <span className="text-soft"> {words.running}</span>}
        </>
      ),
    },
    {
      id: 'whole',
      label: measure === 'cost' ? words.cost : words.tokens.title,
      cell: row =>
        isNothing(row.of.bin.sums) && isUnknown(row) ? (
          <span className="text-soft">{unknown}</span>
        ) : (
          cell(row.of.bin.sums)
        ),
      foot: value(amountsOf(report.total)),
    },
    {
      id: 'runs',
      label: words.runs,
      cell: row => (isUnknown(row) ? <span className="text-soft">{unknown}</span> : grouped(row.of.bin.sums.runs)),
      foot: grouped(report.total.runs),
    },
    ...series.map((id, i) => ({
      id,
      label: name(id),
      cell: (row: Row) => cell(row.of.parts[i] ?? nothing),
      foot: value(total(split.map(s => s.parts[i] ?? nothing))),
    })),
  ]
  return <NumberTable columns={columns} idOf={row => row.of.bin.start} label={label} rows={rows} still={!focusable} />
}

function Time({ row, go, focusable }: { row: Row; go: Go; focusable: boolean }) {
  const days = daysOfBin(row.of.bin)
  if (!days || !focusable || isNothing(row.of.bin.sums)) return <>{row.name}</>
  return (
    <button
      className="text-accent hover:underline"
      onClick={() => go({ period: 'days', ...days, show: undefined })}
      title={words.onlyThis(row.name)}
      type="button"
    >
      {row.name}
    </button>
  )
}
