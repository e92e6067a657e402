import { notifyManager, type QueryClient } from '@tanstack/react-query'
import { eventOf, gathered, type Patch, rereadSoon } from '../app/live/patches'
import { dropTask, putTask } from './queries'
import type { Task } from './task'

let cacheOf: QueryClient | null = null

/** Puts changed tasks into the cache. Tasks that change together are shown together. */
const show = gathered<Task>(tasks => {
  const cache = cacheOf
  if (!cache) return
  notifyManager.batch(() => {
    for (const task of tasks) putTask(cache, task)
  })
})

/** Events with which a receipt appears or changes. A person can also approve a task by moving it. */
const judges = ['task.receipt_made', 'task.reported', 'task.approved', 'task.sent_back', 'task.changed']

/** The last event of a change contains the task as it is now. */
export const taskPatches: readonly Patch[] = [
  {
    on: ['task.', 'comment.'],
    apply: (happened, cache) => {
      const event = eventOf(happened)
      if (event?.subject.kind !== 'task') return
      cacheOf = cache
      const { id, name } = event.subject
      if (event.kind === 'task.deleted') dropTask(cache, id)
      else if (event.task) show(event.task)
      for (const key of [id, name]) {
        rereadSoon(cache, ['tasks', 'history', key])
        if (event.kind === 'task.reported' || event.kind === 'task.dispatch_ended')
          rereadSoon(cache, ['tasks', 'reports', key])
        if (judges.includes(event.kind)) rereadSoon(cache, ['tasks', 'receipt', key])
        if (event.kind.includes('comment')) rereadSoon(cache, ['tasks', 'comments', key])
      }
      rereadSoon(cache, ['tasks', 'parts'])
    },
  },
]
