import type { QueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { Problem } from '../api/problem'
import { eventOf, gathered, type Patch, rereadSoon } from '../app/live/patches'
import { dropTask, putTask } from './queries'

/** From this many changed tasks on, refetching the lists is cheaper. */
const many = 20

let cacheOf: QueryClient | null = null

const readAnew = gathered(ids => {
  const cache = cacheOf
  if (!cache) return
  if (ids.length > many) return rereadSoon(cache, ['tasks', 'list'])
  for (const id of ids) {
    take(api.GET('/api/v1/tasks/{id}', { params: { path: { id } } })).then(
      task => putTask(cache, task),
      err => {
        if (err instanceof Problem && err.status === 404) dropTask(cache, id)
      },
    )
  }
})

/** Events with which a receipt appears or changes. A person can also approve a task by moving it. */
const judges = ['task.receipt_made', 'task.reported', 'task.approved', 'task.sent_back', 'task.changed']

/** Events name the changed task, which is then refetched. */
export const taskPatches: readonly Patch[] = [
  {
    on: ['task.', 'comment.'],
    apply: (happened, cache) => {
      const event = eventOf(happened)
      if (event?.subject.kind !== 'task') return
      cacheOf = cache
      const { id, name } = event.subject
      if (event.kind === 'task.deleted') dropTask(cache, id)
      else if (cache.getQueryCache().find({ queryKey: ['tasks'], exact: false })) readAnew(id)
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
