import { QueryClient } from '@tanstack/react-query'
import { beforeEach, describe, expect, it } from 'vitest'
import { begin } from './pendingChanges'
import { dropTask, oneQuery, putTask } from './queries'
import type { Task, TaskCard } from './task'

const card = (of: Partial<TaskCard> = {}): TaskCard =>
  ({ id: 't1', key: 'TASK-1', title: 'Order paper', status: 'todo', version: 3, position: '1', ...of }) as TaskCard
const whole = (of: Partial<Task> = {}): Task =>
  ({ ...card(), description: 'For the printer', depends_on: [], ...of }) as Task

describe('a task that was read', () => {
  let cache: QueryClient
  const one = () => cache.getQueryData(oneQuery('TASK-1').queryKey)
  beforeEach(() => {
    cache = new QueryClient()
    dropTask(cache, 't1')
    cache.setQueryData(oneQuery('TASK-1').queryKey, whole())
  })

  it('replaces the one that is open, when it is whole', () => {
    putTask(cache, whole({ version: 4, description: 'For the office' }))
    expect(one()).toMatchObject({ version: 4, description: 'For the office' })
  })

  // Otherwise the open task would lose its description, or overwrite a newer version.
  it('as a card leaves what a card does not have', () => {
    putTask(cache, card({ status: 'review' }))
    expect(one()).toMatchObject({ version: 3, status: 'review', description: 'For the printer' })
    putTask(cache, card({ version: 5, status: 'done' }))
    expect(one()).toMatchObject({ version: 3, status: 'review' })
  })

  it('as a card is no whole task by a change of the description on its way', () => {
    const end = begin('t1', { description: 'For the office' })
    putTask(cache, card({ version: 4 }))
    end()
    expect(one()).toMatchObject({ version: 3, depends_on: [] })
  })
})
