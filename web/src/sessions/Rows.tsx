import { Link, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { useDrawn } from '../app/idle'
import { useKeys } from '../app/keys'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Icon } from '../ui/Icon'
import { Edges } from '../ui/Scroller'
import { leastWidth, type TableColumn } from '../ui/Table'
import { useEdges } from '../ui/useEdges'
import type { Item } from './session'

const keys = texts.tasks.keys
const words = sessionsWords
const small = '(max-width: 47.99rem)'

/** Numeric columns, aligned right. */
const numbers: ReadonlySet<string> = new Set(['tokens', 'cost', 'messages'])

/** Returns whether there is room for only one column. */
const useNarrow = (): boolean =>
  useSyncExternalStore(
    tell => {
      const media = matchMedia(small)
      media.addEventListener('change', tell)
      return () => media.removeEventListener('change', tell)
    },
    () => matchMedia(small).matches,
  )

interface Props<T> {
  label: string
  items: readonly Item<T>[]
  /** The first column names the row and links to it. */
  columns: readonly TableColumn<T>[]
  /** Returns the key or ID in the address of the session's page. */
  to: (row: T) => string
  nameOf: (row: T) => string
  /** Content below the name on narrow screens. */
  below: (row: T) => ReactNode
  groupName: (item: Exclude<Item<T>, { type: 'row' }>) => string
  onJob?: (job: string, open: boolean) => void
  /** Called when the end of the list is near. */
  onEnd?: () => void
}

/** A virtualized table of sessions, with two lines per row on a phone. */
export function Rows<T>(p: Props<T>) {
  const { items, columns, onEnd } = p
  const narrow = useNarrow()
  const scroller = useRef<HTMLDivElement>(null)
  const edges = useEdges(scroller)
  const navigate = useNavigate()
  const [current, setCurrent] = useState({ id: '', focus: 0 })
  const heightOf = (i: number) => (narrow && items[i]?.type === 'row' ? 60 : 32)
  const drawn = useDrawn()
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: heightOf,
    overscan: drawn || current.focus > 0 ? 12 : 1,
    getItemKey: i => `${items[i]?.type} ${items[i]?.id ?? i} ${narrow}`,
  })
  const at = items.findIndex(i => i.id === current.id)
  const go = (by: number) => {
    const to = Math.max(0, Math.min(items.length - 1, at < 0 ? 0 : at + by))
    list.scrollToIndex(to)
    setCurrent(was => ({ id: items[to]?.id ?? '', focus: was.focus + 1 }))
  }
  const openIt = () => {
    const item = items[at]
    if (item?.type === 'row') void navigate({ to: '/sessions/$key', params: { key: p.to(item.row) } })
    if (item?.type === 'job') p.onJob?.(item.job, !item.open)
  }
  useKeys([
    { keys: 'j', label: keys.next, run: () => go(1) },
    { keys: 'k', label: keys.previous, run: () => go(-1) },
    { keys: 'o', label: keys.open, run: openIt },
  ])
  useEffect(() => {
    if (current.focus === 0) return
    const row = scroller.current?.querySelector(`[data-row="${CSS.escape(current.id)}"]`)
    row?.querySelector<HTMLElement>('a, button')?.focus()
  }, [current])
  const last = list.getVirtualItems().at(-1)?.index ?? 0
  useEffect(() => {
    if (onEnd && last >= items.length - 5) onEnd()
  }, [last, items.length, onEnd])
  const template = { gridTemplateColumns: narrow ? 'minmax(0,1fr)' : columns.map(c => c.width).join(' ') }
  const shown = narrow ? columns.slice(0, 1) : columns
  const least = narrow ? {} : { minWidth: leastWidth(columns) }
  const swiped = edges.left || edges.right
  return (
    <div className="relative flex min-h-0 grow flex-col">
      <div
        ref={scroller}
        aria-label={p.label}
        aria-rowcount={items.length + 1}
        className="min-h-0 grow overflow-auto -outline-offset-2"
        role="table"
        // Focusable, so that the arrow keys can scroll it.
        {...(swiped ? { tabIndex: 0 } : {})}
      >
        <div role="rowgroup" style={least}>
          <div
            className={`sticky top-0 z-20 grid items-center border-line border-b bg-panel text-soft text-xs ${narrow ? 'sr-only' : 'h-8'}`}
            role="row"
            style={template}
          >
            {shown.map(c => (
              <span key={c.id} className={`px-2 ${numbers.has(c.id) ? 'text-right' : ''}`} role="columnheader">
                {c.label}
              </span>
            ))}
          </div>
        </div>
        <div className="relative" role="rowgroup" style={{ ...least, height: list.getTotalSize() }}>
          {list.getVirtualItems().map(v => {
            const item = items[v.index]
            return (
              item && (
                <div
                  key={v.key}
                  aria-rowindex={v.index + 2}
                  className={`absolute inset-x-0 top-0 border-line border-b ${item.type === 'row' ? 'grid items-center hover:bg-hover' : 'bg-panel'}`}
                  data-row={item.id}
                  onFocus={() => item.id !== current.id && setCurrent({ id: item.id, focus: 0 })}
                  role="row"
                  style={{
                    ...(item.type === 'row' ? template : {}),
                    height: heightOf(v.index),
                    transform: `translateY(${v.start}px)`,
                  }}
                  tabIndex={-1}
                >
                  {item.type === 'row' ? (
                    <Cells item={item} narrow={narrow} of={p} shown={shown} />
                  ) : (
                    <Heading colSpan={shown.length} item={item} of={p} />
                  )}
                </div>
              )
            )
          })}
        </div>
      </div>
      <Edges of={edges} />
    </div>
  )
}

function Cells<T>({
  item,
  of: p,
  shown,
  narrow,
}: {
  item: Extract<Item<T>, { type: 'row' }>
  of: Props<T>
  shown: readonly TableColumn<T>[]
  narrow: boolean
}) {
  return shown.map((c, i) => (
    <span
      key={c.id}
      className={`flex min-w-0 items-center px-2 ${numbers.has(c.id) ? 'justify-end tabular-nums' : ''} ${narrow ? 'flex-col items-stretch gap-0.5' : ''} ${i === 0 && item.inJob ? 'pl-7' : ''}`}
      role="cell"
    >
      {i === 0 ? (
        <>
          <Link
            aria-label={p.nameOf(item.row)}
            className="flex min-w-0 items-center hover:underline"
            params={{ key: p.to(item.row) }}
            preload={false}
            to="/sessions/$key"
          >
            {c.cell(item.row)}
          </Link>
          {narrow && p.below(item.row)}
        </>
      ) : (
        c.cell(item.row)
      )}
    </span>
  ))
}

/** A group heading: an agent, a kind, or a job whose runs can be expanded. */
function Heading<T>({
  item,
  of: p,
  colSpan,
}: {
  item: Exclude<Item<T>, { type: 'row' }>
  of: Props<T>
  colSpan: number
}) {
  const name = p.groupName(item)
  if (item.type === 'group') {
    return (
      <span
        aria-colspan={colSpan}
        className="sticky left-0 flex h-8 w-max max-w-[90vw] items-center gap-2 px-2"
        role="cell"
      >
        <bdi className="truncate font-semibold">{name}</bdi>
        <span className="shrink-0 text-soft text-xs">{words.grouped(item.count, item.active)}</span>
      </span>
    )
  }
  return (
    <span aria-colspan={colSpan} className="sticky left-0 flex h-8 w-max max-w-[90vw] items-center px-2" role="cell">
      <button
        aria-expanded={item.open}
        className="flex h-full min-w-0 items-center gap-2 hover:underline"
        onClick={() => p.onJob?.(item.job, !item.open)}
        type="button"
      >
        <Icon className="text-soft" name={item.open ? 'chevron' : 'right'} />
        <Icon className="text-soft" name="schedules" />
        <bdi className="truncate font-medium">{name}</bdi>
        <span className="shrink-0 text-soft text-xs">{words.runs(item.count, item.active)}</span>
      </button>
    </span>
  )
}
