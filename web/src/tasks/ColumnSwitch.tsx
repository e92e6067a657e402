import { type RefObject, useEffect, useState } from 'react'
import { grouped } from '../app/format'
import { texts } from '../texts'
import { Icon } from '../ui/Icon'
import type { Status, TaskCard } from './task'

const words = texts.tasks

interface Props {
  board: RefObject<HTMLDivElement | null>
  shown: readonly Status[]
  columns: ReadonlyMap<Status, readonly TaskCard[]>
}

/** Scrolls the board so that a column is in its middle. */
function showColumn(board: HTMLElement, at: number): void {
  const column = board.children[at]
  if (column instanceof HTMLElement)
    board.scrollTo({ left: column.offsetLeft - (board.clientWidth - column.clientWidth) / 2 })
}

/** Returns the index of the column in the middle of the board. */
function middleOf(board: HTMLElement): number {
  const middle = board.scrollLeft + board.clientWidth / 2
  return [...board.children].findIndex(
    c => c instanceof HTMLElement && c.offsetLeft <= middle && c.offsetLeft + c.clientWidth >= middle,
  )
}

/** On a phone, where the board shows one column at a time: buttons for the columns. It opens on In progress. */
export function ColumnSwitch({ board, shown, columns }: Props) {
  const [at, setAt] = useState(0)
  useEffect(() => {
    const element = board.current
    if (!element) return
    const first = shown.indexOf('in_progress')
    if (first > 0 && matchMedia('(max-width: 639px)').matches) showColumn(element, first)
    const onScroll = () => setAt(was => (middleOf(element) < 0 ? was : middleOf(element)))
    onScroll()
    element.addEventListener('scroll', onScroll, { passive: true })
    return () => element.removeEventListener('scroll', onScroll)
  }, [board, shown])
  if (shown.length < 2) return null
  return (
    <fieldset className="flex min-w-0 shrink-0 overflow-x-auto border-line border-b px-2 py-1 sm:hidden">
      <legend className="sr-only">{words.columns}</legend>
      {shown.map((s, i) => (
        <button
          key={s}
          aria-pressed={i === at}
          className={`h-9 grow whitespace-nowrap rounded-md px-1.5 text-xs ${i === at ? 'bg-accent-tint text-accent' : 'text-soft'}`}
          onClick={() => board.current && showColumn(board.current, i)}
          type="button"
        >
          {words.status[s]} {grouped(columns.get(s)?.length ?? 0)}
          {columns.get(s)?.some(t => t.blocked) && (
            <>
              <Icon className="mb-0.5 ml-0.5 inline size-3 text-danger" name="blocked" />
              <span className="sr-only">{words.fields.blocked}</span>
            </>
          )}
        </button>
      ))}
    </fieldset>
  )
}
