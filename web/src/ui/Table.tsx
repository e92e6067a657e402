import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { useKeys } from '../app/keys'
import { texts } from '../texts'
import { Icon } from './Icon'

export interface TableColumn<T> {
  id: string
  label: string
  /** A track of a CSS grid, such as 6rem or minmax(12rem,1fr). */
  width: string
  /** By what the list is sorted when its name is clicked; the second time with a minus. */
  sort?: string
  cell: (row: T) => ReactNode
}

interface Props<T> {
  label: string
  rows: readonly T[]
  columns: readonly TableColumn<T>[]
  idOf: (row: T) => string
  /** What a screen reader calls the row. */
  nameOf: (row: T) => string
  opened?: (row: T) => boolean
  onOpen: (row: T) => void
  selected?: ReadonlySet<string>
  onSelect?: (row: T) => void
  sort?: string
  onSort?: (sort: string) => void
}

const height = 30
const words = texts.tasks.keys

/**
 * Dense rows, of which only those are made that can be seen. j and k move, o
 * opens, x selects; the row that has the focus is the one they mean.
 */
export function Table<T>({
  label,
  rows,
  columns,
  idOf,
  nameOf,
  opened,
  onOpen,
  selected,
  onSelect,
  sort,
  onSort,
}: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null)
  const [current, setCurrent] = useState<{ id: string; focus: number }>({ id: '', focus: 0 })
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
    getItemKey: i => (rows[i] ? idOf(rows[i]) : i),
  })
  const at = useMemo(() => rows.findIndex(r => idOf(r) === current.id), [rows, current.id, idOf])
  const go = (by: number) => {
    const to = Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))
    const row = rows[to]
    if (!row) return
    list.scrollToIndex(to, { align: 'auto' })
    setCurrent(was => ({ id: idOf(row), focus: was.focus + 1 }))
  }
  const here = (f: ((row: T) => void) | undefined) => {
    const row = rows[at]
    if (row && f) f(row)
  }
  useKeys([
    { keys: 'j', label: words.next, run: () => go(1) },
    { keys: 'k', label: words.previous, run: () => go(-1) },
    { keys: 'o', label: words.open, run: () => here(onOpen) },
    ...(onSelect ? [{ keys: 'x', label: words.select, run: () => here(onSelect) }] : []),
  ])
  useEffect(() => {
    if (current.focus > 0)
      scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(current.id)}"] button`)?.focus()
  }, [current])
  const template = { gridTemplateColumns: [...(onSelect ? ['2.25rem'] : []), ...columns.map(c => c.width)].join(' ') }
  return (
    <div
      ref={scroller}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      className="min-h-0 grow overflow-auto"
      role="table"
    >
      <div
        className="sticky top-0 z-20 grid h-8 min-w-max items-center border-line border-b bg-panel text-soft text-xs md:min-w-0"
        role="row"
        style={template}
      >
        {onSelect && (
          <span role="columnheader">
            <span className="sr-only">{words.select}</span>
          </span>
        )}
        {columns.map(c => (
          <Head key={c.id} column={c} onSort={onSort} sort={sort} />
        ))}
      </div>
      <div className="relative min-w-max md:min-w-0" role="rowgroup" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(item => {
          const row = rows[item.index]
          if (!row) return null
          const id = idOf(row)
          const chosen = selected?.has(id) ?? false
          return (
            <div
              key={id}
              aria-rowindex={item.index + 2}
              className={`absolute inset-x-0 top-0 grid items-center border-line border-b ${chosen || opened?.(row) ? 'bg-accent-tint' : 'hover:bg-hover'}`}
              data-row={id}
              onFocus={() => id !== current.id && setCurrent({ id, focus: 0 })}
              role="row"
              style={{ ...template, height, transform: `translateY(${item.start}px)` }}
              tabIndex={-1}
            >
              {onSelect && (
                <span className="flex justify-center" role="cell">
                  <input
                    aria-label={texts.tasks.select(nameOf(row))}
                    checked={chosen}
                    className="size-4 accent-accent"
                    onChange={() => onSelect(row)}
                    type="checkbox"
                  />
                </span>
              )}
              {columns.map((c, i) => (
                <span key={c.id} className="flex min-w-0 items-center px-2" role="cell">
                  {i === 0 ? (
                    <button
                      className="truncate hover:underline"
                      data-task={nameOf(row)}
                      onClick={() => onOpen(row)}
                      type="button"
                    >
                      {c.cell(row)}
                    </button>
                  ) : (
                    c.cell(row)
                  )}
                </span>
              ))}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function Head<T>({
  column,
  sort,
  onSort,
}: {
  column: TableColumn<T>
  sort: string | undefined
  onSort: ((sort: string) => void) | undefined
}) {
  const by = column.sort
  const direction = by && sort === by ? 'ascending' : by && sort === `-${by}` ? 'descending' : undefined
  return (
    <span aria-sort={direction} className="flex px-2" role="columnheader" tabIndex={-1}>
      {by && onSort ? (
        <button
          className="flex items-center gap-1 hover:text-ink"
          onClick={() => onSort(direction === 'ascending' ? `-${by}` : by)}
          type="button"
        >
          {column.label}
          {direction && <Icon className="size-3" name={direction === 'ascending' ? 'up' : 'down'} />}
        </button>
      ) : (
        column.label || <span className="sr-only">{texts.app.more}</span>
      )}
    </span>
  )
}
