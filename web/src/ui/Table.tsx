import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useDrawn } from '../app/idle'
import { useKeys } from '../app/keys'
import { texts } from '../texts'
import { Button } from './Button'
import { Icon } from './Icon'
import { Menu } from './Menu'
import { useNarrow } from './useEdges'

export interface TableColumn<T> {
  id: string
  label: string
  /** The label in a card, if another. */
  cardLabel?: string
  /** A CSS grid track, such as 6rem or minmax(12rem,1fr). */
  width: string
  /** The sort key. A second click on the header sorts in reverse, with a leading minus. */
  sort?: string
  cell: (row: T) => ReactNode
  /**
   * Where the cell goes when rows become cards: `head` beside the name, `line` on its own line, `plain` without its
   * label, `none` hidden. By default it is listed with its label. The `name`, by default the first cell, opens the row.
   */
  card?: 'name' | 'head' | 'line' | 'plain' | 'none'
  /** Whether the cells are numbers, which are aligned on the right. */
  number?: true
}

interface Props<T> {
  label: string
  rows: readonly T[]
  columns: readonly TableColumn<T>[]
  idOf: (row: T) => string
  /** The accessible name of the row. */
  nameOf: (row: T) => string
  opened?: (row: T) => boolean
  onOpen: (row: T) => void
  selected?: ReadonlySet<string>
  onSelect?: (row: T) => void
  sort?: string
  onSort?: (sort: string) => void
  /** The height of a row in px, if it has more than one line. */
  height?: number
}

/** Estimated height of a card before it is measured. */
const cardHeight = 76
/** The font size of the page in px, see tokens.css. */
const rem = 14
const words = texts.tasks.keys

/** Returns the minimum width of the rows in px: the sum of their columns. */
const leastWidth = (columns: readonly { width: string }[], more: number): number =>
  rem * columns.reduce((sum, c) => sum + Number(/[\d.]+/.exec(c.width)?.[0] ?? 0), more)

/**
 * A virtualized table whose rows become cards where the columns do not fit side by side. The j and k keys move, o opens,
 * and x selects the focused row.
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
  height = 30,
}: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null)
  const cards = useNarrow(scroller, leastWidth(columns, onSelect ? 2.25 : 0))
  const [selecting, setSelecting] = useState(false)
  const [current, setCurrent] = useState<{ id: string; focus: number }>({ id: '', focus: 0 })
  const drawn = useDrawn()
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (cards ? cardHeight : height),
    overscan: drawn || cards || current.focus > 0 ? 12 : 1,
    getItemKey: i => (rows[i] ? idOf(rows[i]) : i),
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: measured heights are valid only for one layout
  useLayoutEffect(() => list.measure(), [cards, list])
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
  const named = columns.find(c => c.card === 'name') ?? columns[0]
  const shown = cards ? columns.filter(c => c.card !== 'none') : columns
  return (
    <div className="flex min-h-0 grow flex-col">
      {cards && onSort && (
        <div className="flex shrink-0 justify-between border-line border-b px-3 py-1">
          <SortMenu columns={columns} onSort={onSort} sort={sort} />
          {onSelect && (
            <Button aria-pressed={selecting} className="-mr-2.5" look="quiet" onClick={() => setSelecting(!selecting)}>
              {texts.tasks.selectSome}
            </Button>
          )}
        </div>
      )}
      <div ref={scroller} className="min-h-0 grow overflow-auto -outline-offset-2">
        <div aria-label={label} aria-rowcount={rows.length + 1} role="table">
          <div
            className={
              cards
                ? 'sr-only'
                : 'sticky top-0 z-20 grid h-8 items-center border-line border-b bg-panel text-soft text-xs'
            }
            role="row"
            style={cards ? {} : template}
          >
            {onSelect && (
              <span role="columnheader">
                <span className="sr-only">{words.select}</span>
              </span>
            )}
            {shown.map(c => (
              <Head key={c.id} column={c} onSort={cards ? undefined : onSort} sort={sort} />
            ))}
          </div>
          <div className="relative" role="rowgroup" style={{ height: list.getTotalSize() }}>
            {list.getVirtualItems().map(item => {
              const row = rows[item.index]
              if (!row) return null
              const id = idOf(row)
              const chosen = selected?.has(id) ?? false
              // On a phone the boxes would take room from every title.
              const box = onSelect && (!cards || selecting || (selected && selected.size > 0)) && (
                <span className={`flex justify-center ${cards ? 'w-6' : ''}`} role="cell">
                  <input
                    aria-label={texts.tasks.select(nameOf(row))}
                    checked={chosen}
                    className="size-4 accent-accent pointer-coarse:size-6"
                    onChange={() => onSelect(row)}
                    type="checkbox"
                  />
                </span>
              )
              const name = (c: TableColumn<T>) => (
                <button
                  className="min-h-[24px] min-w-0 grow truncate text-left hover:underline"
                  data-task={nameOf(row)}
                  onClick={() => onOpen(row)}
                  type="button"
                >
                  {c.cell(row)}
                </button>
              )
              const look = `absolute inset-x-0 top-0 border-line border-b ${chosen || opened?.(row) ? 'bg-accent-tint' : 'hover:bg-hover'}`
              return (
                <div
                  key={id}
                  ref={cards ? list.measureElement : null}
                  aria-rowindex={item.index + 2}
                  className={`${look} ${cards ? 'flex flex-col gap-1 px-3 py-1.5' : 'grid items-center'}`}
                  data-index={item.index}
                  data-row={id}
                  onFocus={() => id !== current.id && setCurrent({ id, focus: 0 })}
                  role="row"
                  style={{
                    ...(cards ? {} : { ...template, height }),
                    transform: `translateY(${item.start}px)`,
                  }}
                  tabIndex={-1}
                >
                  {cards ? (
                    <Card box={box} columns={shown} name={name} named={named} row={row} />
                  ) : (
                    <>
                      {box}
                      {columns.map(c => (
                        <span
                          key={c.id}
                          className={`flex min-w-0 items-center px-2 ${c.number ? 'justify-end' : ''}`}
                          role="cell"
                        >
                          {c === named ? name(c) : c.cell(row)}
                        </span>
                      ))}
                    </>
                  )}
                </div>
              )
            })}
          </div>
        </div>
      </div>
    </div>
  )
}

/** A row as a card: its name and actions, then the other cells with their labels. */
function Card<T>({
  row,
  columns,
  named,
  name,
  box,
}: {
  row: T
  columns: readonly TableColumn<T>[]
  named: TableColumn<T> | undefined
  name: (column: TableColumn<T>) => ReactNode
  box: ReactNode
}) {
  const others = columns.filter(c => c !== named)
  const isHead = (c: TableColumn<T>) => c.card === 'head' || c.label === ''
  return (
    <>
      <div className="flex min-w-0 items-center gap-2">
        {box}
        <span className="flex min-w-0 grow items-center" role="cell">
          {named && name(named)}
        </span>
        {others.filter(isHead).map(c => (
          <span key={c.id} className="flex shrink-0 items-center" role="cell">
            {c.cell(row)}
          </span>
        ))}
      </div>
      <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
        {others
          .filter(c => !isHead(c))
          .map(c => (
            <span
              key={c.id}
              className={`flex min-w-0 max-w-full items-center gap-1.5 empty:hidden ${c.card === 'line' ? 'basis-full' : ''}`}
              role="cell"
            >
              {c.card ? null : (
                <span aria-hidden="true" className="shrink-0 text-soft text-xs">
                  {c.cardLabel ?? c.label}
                </span>
              )}
              {c.cell(row)}
            </span>
          ))}
      </div>
    </>
  )
}

type Sorted = Pick<TableColumn<never>, 'sort'>

const directionOf = ({ sort: by }: Sorted, sort: string | undefined) =>
  by && sort === by ? 'ascending' : by && sort === `-${by}` ? 'descending' : undefined

/** Returns the order that choosing a column leads to: its own, or the reverse if the rows have it already. */
const next = (column: Sorted, sort: string | undefined): string =>
  directionOf(column, sort) === 'ascending' ? `-${column.sort}` : (column.sort ?? '')

const arrows = { ascending: 'up', descending: 'down' } as const

/** The choice of the order where rows are cards, which have no headers to click. */
function SortMenu<T>({
  columns,
  sort,
  onSort,
}: {
  columns: readonly TableColumn<T>[]
  sort: string | undefined
  onSort: (sort: string) => void
}) {
  const now = columns.find(c => directionOf(c, sort))
  const direction = now && directionOf(now, sort)
  return (
    <Menu
      align="start"
      groups={[
        {
          items: columns.flatMap(c => {
            if (!c.sort) return []
            const is = directionOf(c, sort)
            const onSelect = () => onSort(next(c, sort))
            return { id: c.id, label: c.label, checked: c === now, onSelect, ...(is ? { icon: arrows[is] } : {}) }
          }),
        },
      ]}
      trigger={
        <Button className="-ml-2.5" look="quiet" {...(direction ? { icon: arrows[direction] } : {})}>
          {texts.ui.sortedBy(now?.label)}
          <Icon className="size-3.5" name="chevron" />
        </Button>
      }
    />
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
  const direction = directionOf(column, sort)
  return (
    <span
      aria-sort={direction}
      className={`flex px-2 ${column.number ? 'justify-end' : ''}`}
      role="columnheader"
      tabIndex={-1}
    >
      {column.sort && onSort ? (
        <button
          className="flex min-h-[24px] items-center gap-1 hover:text-ink"
          onClick={() => onSort(next(column, sort))}
          type="button"
        >
          {column.label}
          {direction && <Icon className="size-3" name={arrows[direction]} />}
        </button>
      ) : (
        column.label || <span className="sr-only">{texts.app.more}</span>
      )}
    </span>
  )
}
