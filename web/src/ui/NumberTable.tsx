import type { ReactNode } from 'react'
import { texts } from '../texts'
import { Scroller } from './Scroller'

export interface NumberColumn<T> {
  id: string
  label: string
  /** Aligns the column left. Columns are numbers and right-aligned by default. */
  left?: boolean
  cell: (row: T) => ReactNode
  /** The cell of the total row, which comes first. */
  foot?: ReactNode
  /** Whether the column is left out on a phone. */
  wide?: true
}

/** A table of numbers with a sticky first column, for up to a few hundred rows. Use `Table` for thousands. */
export function NumberTable<T>({
  label,
  columns,
  rows,
  idOf,
  className = '',
}: {
  label: string
  columns: readonly NumberColumn<T>[]
  rows: readonly T[]
  idOf: (row: T) => string
  className?: string
}) {
  const [first, ...others] = columns
  if (!first) return null
  const side = (c: NumberColumn<T>) => (c === first || c.left ? 'text-left' : 'text-right')
  const wide = (c: NumberColumn<T>) => (c.wide ? 'max-sm:hidden' : '')
  const cell = 'h-[30px] px-2 whitespace-nowrap'
  const sticky = 'sticky left-0 bg-ground max-w-[45vw] truncate text-left font-normal'
  return (
    <Scroller className={`max-h-[70vh] rounded-md border border-line ${className}`} label={texts.ui.tableOf(label)}>
      <table className="w-full border-collapse text-sm">
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr className="sticky top-0 z-10 bg-panel text-soft text-xs">
            {columns.map((c, i) => (
              <th
                key={c.id}
                className={`${cell} ${side(c)} ${wide(c)} font-medium ${i === 0 ? 'sticky left-0 bg-panel' : ''}`}
                scope="col"
              >
                {c.label}
              </th>
            ))}
          </tr>
          {columns.some(c => c.foot !== undefined) && (
            <tr className="border-line-strong border-t bg-panel font-medium text-sm">
              <th className={`${cell} sticky left-0 bg-panel text-left font-medium`} scope="row">
                {first.foot}
              </th>
              {others.map(c => (
                <td key={c.id} className={`${cell} ${side(c)} ${wide(c)}`} data-col={c.id}>
                  {c.foot}
                </td>
              ))}
            </tr>
          )}
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={idOf(row)} className="border-line border-t" data-row={idOf(row)}>
              <th className={`${cell} ${sticky}`} scope="row">
                {first.cell(row)}
              </th>
              {others.map(c => (
                <td key={c.id} className={`${cell} ${side(c)} ${wide(c)}`} data-col={c.id}>
                  {c.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  )
}
