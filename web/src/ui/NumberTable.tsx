import type { ReactNode } from 'react'
import { texts } from '../texts'
import { Scroller } from './Scroller'

export interface NumberColumn<T> {
  id: string
  label: string
  /** Aligns the column left. Columns are numbers and right-aligned by default. */
  left?: boolean
  cell: (row: T) => ReactNode
  foot?: ReactNode
}

/** A table of numbers with a sticky first column, for up to a few hundred rows. Use `Table` for thousands. */
export function NumberTable<T>({
  label,
  columns,
  rows,
  idOf,
  still = false,
}: {
  label: string
  columns: readonly NumberColumn<T>[]
  rows: readonly T[]
  idOf: (row: T) => string
  /** Set while the table is hidden, so it needs no scroll region. */
  still?: boolean
}) {
  const [first, ...others] = columns
  if (!first) return null
  const side = (c: NumberColumn<T>) => (c === first || c.left ? 'text-left' : 'text-right')
  const cell = 'h-[30px] px-2 whitespace-nowrap'
  const sticky = 'sticky left-0 bg-ground max-w-[45vw] truncate text-left font-normal'
  const table = (
    <table className="w-full border-collapse text-sm">
      <caption className="sr-only">{label}</caption>
      <thead>
        <tr className="sticky top-0 z-10 bg-panel text-soft text-xs">
          {columns.map((c, i) => (
            <th
              key={c.id}
              className={`${cell} ${side(c)} font-medium ${i === 0 ? 'sticky left-0 bg-panel' : ''}`}
              scope="col"
            >
              {c.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr key={idOf(row)} className="border-line border-t" data-row={idOf(row)}>
            <th className={`${cell} ${sticky}`} scope="row">
              {first.cell(row)}
            </th>
            {others.map(c => (
              <td key={c.id} className={`${cell} ${side(c)}`} data-col={c.id}>
                {c.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
      {columns.some(c => c.foot !== undefined) && (
        <tfoot>
          <tr className="border-line-strong border-t bg-panel font-medium">
            <th className={`${cell} sticky left-0 bg-panel text-left`} scope="row">
              {first.foot}
            </th>
            {others.map(c => (
              <td key={c.id} className={`${cell} ${side(c)}`} data-col={c.id}>
                {c.foot}
              </td>
            ))}
          </tr>
        </tfoot>
      )}
    </table>
  )
  if (still) return table
  return (
    <Scroller className="max-h-[70vh] rounded-md border border-line" label={texts.ui.tableOf(label)}>
      {table}
    </Scroller>
  )
}
