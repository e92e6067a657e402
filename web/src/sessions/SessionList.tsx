import { Link, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { useDrawn } from '../app/idle'
import { useKeys } from '../app/keys'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import type { Item } from './session'

const keys = texts.tasks.keys
const words = sessionsWords
const small = '(max-width: 47.99rem)'

/** Heights of the entries, in px, on wide and narrow screens. Fixed, so that a scroll position can be restored. */
const heights: Record<Item<unknown>['type'], readonly [number, number]> = {
  head: [36, 36],
  none: [44, 60],
  active: [52, 88],
  row: [52, 88],
  job: [52, 88],
}

const useNarrow = (): boolean =>
  useSyncExternalStore(
    tell => {
      const media = matchMedia(small)
      media.addEventListener('change', tell)
      return () => media.removeEventListener('change', tell)
    },
    () => matchMedia(small).matches,
  )

export interface RowViews<T> {
  active: (row: T) => ReactNode
  row: (row: T, inJob: boolean) => ReactNode
  job: (item: Extract<Item<T>, { type: 'job' }>) => ReactNode
}

interface Props<T> {
  label: string
  items: readonly Item<T>[]
  views: RowViews<T>
  /** Returns the key or ID in the address of the session's page. */
  to: (row: T) => string
  onJob: (id: string, open: boolean) => void
  /** Called when the end of the list is near. */
  onEnd?: () => void
}

/** A virtualized list of sessions under headings. The j and k keys move, o opens. */
export function SessionList<T>({ label, items, views, to, onJob, onEnd }: Props<T>) {
  const narrow = useNarrow()
  const scroller = useRef<HTMLDivElement>(null)
  const navigate = useNavigate()
  const [current, setCurrent] = useState({ id: '', focus: 0 })
  const heightOf = (i: number) => heights[items[i]?.type ?? 'row'][narrow ? 1 : 0]
  const drawn = useDrawn()
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: heightOf,
    overscan: drawn || current.focus > 0 ? 12 : 1,
    getItemKey: i => `${items[i]?.type} ${items[i]?.id ?? i} ${narrow}`,
    paddingEnd: 12,
  })
  const at = items.findIndex(i => i.id === current.id)
  const canOpen = (i: Item<T> | undefined) => i?.type === 'row' || i?.type === 'active' || i?.type === 'job'
  const go = (by: 1 | -1) => {
    let next = at < 0 ? 0 : at + by
    while (items[next] && !canOpen(items[next])) next += at < 0 ? 1 : by
    if (!items[next]) return
    list.scrollToIndex(next)
    setCurrent(was => ({ id: items[next]?.id ?? '', focus: was.focus + 1 }))
  }
  const openIt = () => {
    const item = items[at]
    if (item?.type === 'row' || item?.type === 'active')
      void navigate({ to: '/sessions/$key', params: { key: to(item.row) } })
    if (item?.type === 'job') onJob(item.id, !item.open)
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
  return (
    <div ref={scroller} className="min-h-0 grow overflow-y-auto -outline-offset-2">
      <div aria-label={label} className="relative" role="list" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(v => {
          const item = items[v.index]
          return (
            item && (
              <div
                key={v.key}
                aria-posinset={v.index + 1}
                aria-setsize={items.length}
                className="absolute inset-x-0 top-0"
                data-row={item.id}
                onFocus={() => item.id !== current.id && setCurrent({ id: item.id, focus: 0 })}
                role="listitem"
                style={{ height: heightOf(v.index), transform: `translateY(${v.start}px)` }}
              >
                <Entry item={item} views={views} />
              </div>
            )
          )
        })}
      </div>
    </div>
  )
}

function Entry<T>({ item, views }: { item: Item<T>; views: RowViews<T> }) {
  switch (item.type) {
    case 'head':
      return (
        <h3 className="flex h-full items-end gap-2 border-line border-b px-3 pb-1.5 font-semibold text-sm">
          {item.name}
          <span className="font-normal text-soft text-xs">{item.count > 0 && item.count}</span>
        </h3>
      )
    case 'none':
      return (
        <p className="flex h-full items-center gap-2 px-3 text-soft">
          {words.noneActive}
          <Link className="text-accent hover:underline" to="/agents">
            {words.noneActiveAction}
          </Link>
        </p>
      )
    case 'active':
      return views.active(item.row)
    case 'row':
      return views.row(item.row, item.inJob)
    case 'job':
      return views.job(item)
  }
}
