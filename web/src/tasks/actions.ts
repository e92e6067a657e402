import { useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, take } from '../api/client'
import * as clock from '../app/clock'
import { texts } from '../texts'
import type { MenuItem } from '../ui/Menu'
import { say, sayFailed } from '../ui/toast'
import { statusLook } from './Bits'
import { useChange } from './change'
import { putTask } from './queries'
import { between, type Status, statuses, type TaskCard } from './task'

const words = texts.tasks

/** Returns the actions of a task for its card, row, and shortcuts. `column` has the neighboring tasks in order. */
export function useActions() {
  const change = useChange()
  const cache = useQueryClient()
  return useMemo(() => {
    /**
     * Moves a task to a column: before `next`, at the end if null, or in place if undefined. Undo moves it back to its
     * place in `home`.
     */
    const move = (
      task: TaskCard,
      status: Status,
      column: readonly TaskCard[],
      next: TaskCard | null | undefined,
      home: readonly TaskCard[] = column,
    ) => {
      const other = status !== task.status
      const rest = column.filter(t => t.id !== task.id)
      const at = next ? rest.findIndex(t => t.id === next.id) : rest.length
      const before = next === undefined ? undefined : rest[at - 1]
      const place =
        next === undefined ? undefined : next ? { before: next.key } : before ? { after: before.key } : undefined
      const was = home.findIndex(t => t.id === task.id)
      const wasAfter = home[was - 1]
      const wasBefore = home[was + 1]
      const placeBefore =
        was < 0 ? undefined : wasBefore ? { before: wasBefore.key } : wasAfter ? { after: wasAfter.key } : undefined
      if (!other && !place) return
      change({
        task,
        body: { ...(other ? { status } : {}), ...(place ? { position: place } : {}) },
        looks: {
          status,
          ...(place ? { position: between(before?.position ?? '', next?.position ?? '') } : {}),
          ...(other ? { moved_at: new Date(clock.now()).toISOString() } : {}),
        },
        done: other ? words.moved(task.key, words.status[status]) : words.movedHere(task.key),
        ...(placeBefore ? { placeBefore } : {}),
      })
    }
    const archive = async (task: TaskCard) => {
      const path = { params: { path: { id: task.id } } }
      try {
        putTask(cache, await take(api.POST('/api/v1/tasks/{id}/archive', path)))
        say(words.archived(task.key), () => {
          take(api.POST('/api/v1/tasks/{id}/restore', path)).then(
            back => putTask(cache, back),
            err => sayFailed(err),
          )
        })
      } catch (err) {
        sayFailed(err, words.couldNot(task.key))
      }
    }
    const step = (task: TaskCard, by: 1 | -1, home: readonly TaskCard[]) => {
      const to = statuses[statuses.indexOf(task.status) + by]
      if (to) move(task, to, [], undefined, home)
    }
    const menu = (task: TaskCard, column: readonly TaskCard[] | null): { label?: string; items: MenuItem[] }[] => {
      const at = column?.findIndex(t => t.id === task.id) ?? -1
      const last = (column?.length ?? 0) - 1
      const place = (
        id: 'first' | 'up' | 'down' | 'last',
        next: TaskCard | null | undefined,
        disabled: boolean,
      ): MenuItem => ({
        id,
        label: words[id],
        icon: id === 'first' || id === 'up' ? 'up' : 'down',
        disabled,
        onSelect: () => move(task, task.status, column ?? [], next),
      })
      return [
        {
          label: words.moveTo,
          items: statuses.map(s => ({
            id: s,
            label: words.status[s],
            icon: statusLook[s].icon,
            checked: s === task.status,
            disabled: s === task.status,
            onSelect: () => move(task, s, [], undefined, column ?? []),
          })),
        },
        ...(column && at >= 0
          ? [
              {
                label: words.place,
                items: [
                  place('first', column[0], at === 0),
                  place('up', column[at - 1], at === 0),
                  place('down', column[at + 2] ?? null, at === last),
                  place('last', null, at === last),
                ],
              },
            ]
          : []),
        { items: [{ id: 'archive', label: words.archive, icon: 'archive', onSelect: () => void archive(task) }] },
      ]
    }
    return { move, step, menu, change }
  }, [change, cache])
}
