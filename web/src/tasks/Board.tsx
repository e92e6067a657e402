import { monitorForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter'
import { extractClosestEdge } from '@atlaskit/pragmatic-drag-and-drop-hitbox/closest-edge'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useTaskDialogs } from '../acting/useTaskDialogs'
import { useKeys } from '../app/keys'
import type { Person } from '../app/queries'
import { activeRunsQuery } from '../spend/activeRuns'
import { texts } from '../texts'
import { useSharedMenu } from '../ui/SharedMenu'
import { useActions } from './actions'
import { Column, type Current } from './Column'
import { ColumnSwitch } from './ColumnSwitch'
import { type Status, sorted, statuses, type TaskCard } from './task'

const words = texts.tasks.keys

interface Props {
  tasks: readonly TaskCard[]
  /** Whether more tasks are being loaded, so that a column may not be empty. */
  reading: boolean
  people: ReadonlyMap<string, Person>
  statuses: string | undefined
  opened: string | undefined
  onOpen: (key: string) => void
}

/** The columns side by side; on a phone they are swiped. */
export function Board({ tasks, reading, people, statuses: only, opened, onOpen }: Props) {
  const shown = useMemo(() => statuses.filter(s => !only || only.split(',').includes(s)), [only])
  const columns = useMemo(() => {
    const all = sorted(tasks, 'position')
    return new Map<Status, TaskCard[]>(statuses.map(s => [s, all.filter(t => t.status === s)]))
  }, [tasks])
  const runs = useQuery(activeRunsQuery).data?.runs
  const running = useMemo(() => new Set(runs?.flatMap(r => r.task_key ?? [])), [runs])
  const { move, step, menu } = useActions()
  const [onMenu, shared] = useSharedMenu()
  const [askTask, dialogs] = useTaskDialogs()
  const [current, setCurrent] = useState<Current>({ id: '', focus: 0 })
  const board = useRef<HTMLDivElement>(null)
  const offers = useRef(0)
  const taken = useRef(0)
  const latest = useRef(columns)
  latest.current = columns

  useEffect(
    () =>
      monitorForElements({
        canMonitor: ({ source }) => source.data.kind === 'task',
        onDrop: ({ source, location }) => {
          const target = location.current.dropTargets[0]
          const task = [...latest.current.values()].flat().find(t => t.id === source.data.id)
          if (!target || !task) return
          const status = target.data.status as Status
          const column = latest.current.get(status) ?? []
          const over = column.findIndex(t => t.id === target.data.id)
          const next = over < 0 ? null : (column[over + (extractClosestEdge(target.data) === 'bottom' ? 1 : 0)] ?? null)
          if (next?.id !== task.id && target.data.id !== task.id)
            move(task, status, column, next, latest.current.get(task.status))
        },
      }),
    [move],
  )

  const column = opened && tasks.find(t => t.key === opened)?.status
  useEffect(() => {
    const element = board.current?.children[shown.indexOf(column as Status)]
    if (!board.current || !element) return
    // The opened task's column stays in view when its panel takes room.
    const watch = new ResizeObserver(() => element.scrollIntoView({ block: 'nearest', inline: 'nearest' }))
    watch.observe(board.current)
    return () => watch.disconnect()
  }, [column, shown])

  const focus = (task: TaskCard | undefined) => {
    offers.current += 1
    if (task) setCurrent({ id: task.id, focus: offers.current })
  }
  const place = (): [number, number] => {
    for (const [x, s] of shown.entries()) {
      const y = columns.get(s)?.findIndex(t => t.id === current.id) ?? -1
      if (y >= 0) return [x, y]
    }
    return [-1, -1]
  }
  const at = (x: number, y: number): TaskCard | undefined => {
    const column = columns.get(shown[x] as Status) ?? []
    return column[Math.min(y, column.length - 1)]
  }
  const along = (by: 1 | -1) => {
    const [x, y] = place()
    focus(x < 0 ? shown.map((_, i) => at(i, 0)).find(Boolean) : at(x, Math.max(0, y + by)))
  }
  const across = (by: 1 | -1) => {
    const [x, y] = place()
    for (let to = x + by; to >= 0 && to < shown.length; to += by) {
      const task = at(to, Math.max(0, y))
      if (task) return focus(task)
    }
  }
  const here = () => at(...place())
  const stepHere = (by: 1 | -1) => {
    const task = here()
    if (!task) return
    step(task, by, latest.current.get(task.status) ?? [])
    // In the new column it is a new card, which must take over the focus.
    focus(task)
  }
  /** Returns whether a card may take the offered focus: once per offer, and again only if nothing has it. */
  const take = useCallback((offer: number) => {
    const on = document.activeElement
    const may = offer > taken.current || on === null || on === document.body
    taken.current = Math.max(taken.current, offer)
    return may
  }, [])
  useKeys([
    { keys: 'j', label: words.next, run: () => along(1) },
    { keys: 'k', label: words.previous, run: () => along(-1) },
    { keys: 'h', label: words.left, run: () => across(-1) },
    { keys: 'l', label: words.right, run: () => across(1) },
    {
      keys: 'o',
      label: words.open,
      run: () => {
        const t = here()
        if (t) onOpen(t.key)
      },
    },
    { keys: '[', label: words.back, run: () => stepHere(-1) },
    { keys: ']', label: words.on, run: () => stepHere(1) },
  ])
  return (
    <>
      <ColumnSwitch board={board} columns={columns} shown={shown} />
      <div
        ref={board}
        className="@container relative flex min-h-0 grow snap-x snap-mandatory scroll-px-2 gap-2 overflow-x-auto p-2"
      >
        {shown.map(s => (
          <Column
            key={s}
            current={current}
            onAsk={askTask}
            menu={menu}
            onMenu={onMenu}
            onCurrent={setCurrent}
            onTake={take}
            onOpen={onOpen}
            opened={opened}
            people={people}
            reading={reading}
            running={running}
            status={s}
            tasks={columns.get(s) ?? []}
          />
        ))}
      </div>
      {shared}
      {dialogs}
    </>
  )
}
