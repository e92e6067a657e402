import { useMemo, useState } from 'react'
import { grouped, myZone, unknown, usd } from '../app/format'
import { spend } from '../texts/spend'
import { Button } from '../ui/Button'
import { type NumberColumn, NumberTable } from '../ui/NumberTable'
import { Cost, Count } from './Bits'
import { knownOf } from './ledger'
import type { Go } from './search'
import { daysOfBin, type Measure, namesOf, type PartId, type SplitBin } from './split'
import { type Amounts, amountsOf, isNothing, nothing, type Report, roundedParts, tokensOf, total } from './sums'

const words = spend

interface Props {
  label: string
  report: Report
  split: readonly SplitBin[]
  series: readonly PartId[]
  name: (id: PartId) => string
  measure: Measure
  go: Go
}

interface Row {
  of: SplitBin
  name: string
  /** The costs of the parts in rounded dollars, which add up. */
  shown: string[]
}

const shownOf = (whole: Amounts, parts: readonly Amounts[]) =>
  roundedParts(
    whole.cost,
    parts.map(p => p.cost),
  ).map(usd)

/** The numbers of the chart, newest first, with a total row. Hours without usage are left out at first. */
export function TimeTable({ label, report, split, series, name, measure, go }: Props) {
  const rows = useMemo(() => {
    const bins = split.map(s => s.bin)
    return split
      .map((of, i): Row => ({ of, name: namesOf(bins, i).long, shown: shownOf(of.bin.sums, of.parts) }))
      .reverse()
  }, [split])
  const [empty, setEmpty] = useState(false)
  const value = (a: Amounts, shown?: string) =>
    measure === 'cost' ? <Cost of={a} shown={shown} /> : <Count of={tokensOf(a.tokens)} />
  // Groups without runs show a dash, because zero would look like a price.
  const cell = (a: Amounts, shown?: string) => (isNothing(a) ? <span className="text-soft">–</span> : value(a, shown))
  const isUnknown = ({ of: { bin } }: Row) =>
    knownOf({ ...report, from: bin.start, to: bin.end }, Date.now()) === 'nothing'
  const unit = split[0]?.bin.unit ?? 'day'
  const totals = series.map((_, i) => total(split.map(s => s.parts[i] ?? nothing)))
  const shownTotals = shownOf(amountsOf(report.total), totals)
  const columns: NumberColumn<Row>[] = [
    {
      id: 'time',
      label: report.zone === myZone() ? words.time[unit] : words.inZone(words.time[unit], report.zone),
      foot: words.total,
      cell: row => (
        <>
          <Time go={go} row={row} />
          {row.of.bin.running && <span className="text-soft">, {words.running}</span>}
          {series.length > 1 && (
            <span className="flex flex-wrap gap-x-2 pb-1 text-soft text-xs sm:hidden">
              {series.map((id, i) => {
                const part = row.of.parts[i] ?? nothing
                return (
                  !isNothing(part) && (
                    <span key={id}>
                      <bdi>{name(id).split('/').at(-1)}</bdi> {value(part, row.shown[i])}
                    </span>
                  )
                )
              })}
            </span>
          )}
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
      wide: true as const,
      cell: (row: Row) => cell(row.of.parts[i] ?? nothing, row.shown[i]),
      foot: value(totals[i] ?? nothing, shownTotals[i]),
    })),
  ]
  const isEmpty = (row: Row) => unit === 'hour' && isNothing(row.of.bin.sums) && !row.of.bin.running && !isUnknown(row)
  const used = rows.filter(row => !isEmpty(row))
  return (
    <>
      <NumberTable columns={columns} idOf={row => row.of.bin.start} label={label} rows={empty ? rows : used} />
      {!empty && used.length < rows.length && (
        <Button className="mt-2 w-fit self-start" look="quiet" onClick={() => setEmpty(true)}>
          {words.showEmpty(rows.length - used.length)}
        </Button>
      )}
    </>
  )
}

function Time({ row, go }: { row: Row; go: Go }) {
  const days = daysOfBin(row.of.bin)
  if (!days || isNothing(row.of.bin.sums)) return <>{row.name}</>
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
