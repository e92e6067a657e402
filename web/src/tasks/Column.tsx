import { dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import type { AskTask } from '../acting/useTaskDialogs'
import { useDrawn } from '../app/idle'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Guarded } from '../ui/Guarded'
import type { MenuGroup } from '../ui/Menu'
import type { OpenMenu } from '../ui/SharedMenu'
import { StatusMark } from './Bits'
import { Card } from './Card'
import { ColumnLimit } from './ColumnLimit'
import type { Status, TaskCard } from './task'

const words = texts.tasks

export interface Current {
  id: string
  /** Takes the focus when this number grows, after a move by keyboard. */
  focus: number
}

interface Props {
  status: Status
  tasks: readonly TaskCard[]
  reading: boolean
  people: ReadonlyMap<string, Person>
  opened: string | undefined
  /** The keys of the tasks with a run in progress. */
  running: ReadonlySet<string>
  current: Current
  onCurrent: (current: Current) => void
  /** Called by a card that is offered the focus. */
  onTake: (offer: number) => boolean
  onOpen: (key: string) => void
  onAsk: AskTask
  menu: (task: TaskCard, column: readonly TaskCard[]) => readonly MenuGroup[]
  onMenu: OpenMenu
}

/** A virtualized column with its name and number of tasks. As many columns are in view as fit as a whole. */
export function Column(props: Props) {
  const { status, tasks, reading, people, opened, running, current, onCurrent, onTake, onOpen, onAsk, menu, onMenu } =
    props
  const scroller = useRef<HTMLDivElement>(null)
  const latest = useRef(tasks)
  latest.current = tasks
  const [over, setOver] = useState(false)
  const drawn = useDrawn()
  const rows = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 96,
    getItemKey: i => tasks[i]?.id ?? i,
    overscan: drawn ? 6 : 0,
    gap: 6,
    paddingEnd: 8,
  })
  useEffect(() => {
    const element = scroller.current
    if (!element) return
    return dropTargetForElements({
      element,
      canDrop: ({ source }) => source.data.kind === 'task',
      getData: () => ({ status }),
      onDragEnter: () => setOver(true),
      onDragLeave: () => setOver(false),
      onDrop: () => setOver(false),
    })
  }, [status])
  const at = current.focus > 0 ? tasks.findIndex(t => t.id === current.id) : -1
  const here = at >= 0
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls after keyboard moves, not when rows change
  useEffect(() => {
    if (here) rows.scrollToIndex(at, { align: 'auto' })
  }, [current, here])
  return (
    <section
      aria-label={words.status[status]}
      className={`flex w-full shrink-0 snap-center flex-col rounded-md sm:w-auto sm:grow sm:basis-0 sm:snap-start sm:min-w-full sm:@min-[448px]:min-w-[calc(50cqi-4px)] sm:@min-[676px]:min-w-[calc((100cqi-16px)/3)] sm:@min-[904px]:min-w-[calc((100cqi-24px)/4)] sm:@min-[1032px]:min-w-[calc((100cqi-32px)/5)] ${over ? 'bg-accent-tint' : 'bg-panel'}`}
    >
      <h2 className="flex h-9 shrink-0 items-center gap-2 px-3 font-medium max-sm:sr-only">
        <StatusMark of={status} />
        <ColumnLimit n={tasks.length} status={status} />
      </h2>
      <div
        ref={scroller}
        aria-label={words.status[status]}
        className="min-h-24 grow overflow-y-auto px-1.5 outline-offset-[-2px]"
        role="list"
        tabIndex={tasks.length > 0 ? -1 : 0}
      >
        {tasks.length === 0 && !reading && (
          <p className="px-2 py-3 text-center text-soft text-xs" role="listitem">
            {words.emptyColumn}
          </p>
        )}
        {tasks.length > 0 && (
          <div className="relative w-full" role="presentation" style={{ height: rows.getTotalSize() }}>
            {rows.getVirtualItems().map(row => {
              const task = tasks[row.index]
              if (!task) return null
              return (
                <div
                  key={row.key}
                  ref={rows.measureElement}
                  aria-posinset={row.index + 1}
                  aria-setsize={tasks.length}
                  className="absolute inset-x-0 top-0"
                  data-index={row.index}
                  role="listitem"
                  style={{ transform: `translateY(${row.start}px)` }}
                >
                  <Guarded resetKey={task}>
                    <Card
                      focus={task.id === current.id ? current.focus : 0}
                      menu={() => menu(task, latest.current)}
                      onAsk={onAsk}
                      onMenu={onMenu}
                      onFocus={() => task.id !== current.id && onCurrent({ id: task.id, focus: 0 })}
                      onOpen={onOpen}
                      onTake={onTake}
                      opened={task.key === opened}
                      people={people}
                      running={running.has(task.key)}
                      task={task}
                    />
                  </Guarded>
                </div>
              )
            })}
          </div>
        )}
      </div>
    </section>
  )
}
