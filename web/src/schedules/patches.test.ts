import { QueryClient } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { dispatch } from '../app/live/patches'
import type { Job } from './job'
import { schedulePatches } from './patches'
import { jobsQuery, putJob } from './queries'

const job = (id: string, as_of: string, name = id): Job => ({ id, as_of, name, next_runs: [] }) as unknown as Job
const names = (cache: QueryClient) => cache.getQueryData(jobsQuery.queryKey)?.rows.map(j => j.name)

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

// A deleted job must leave the list.
describe('what the stream tells of jobs', () => {
  it('takes one that is gone out of the list', () => {
    const cache = new QueryClient()
    cache.setQueryData(jobsQuery.queryKey, { rows: [job('a', '1'), job('b', '1')], next: null })
    dispatch(schedulePatches, { kind: 'jobs.changed', data: { changed: [], gone: ['a'] } }, cache)
    expect(names(cache)).toEqual(['b'])
  })
  it('puts one in place, adds a new one, and never an older state over a newer one', () => {
    const cache = new QueryClient()
    cache.setQueryData(jobsQuery.queryKey, { rows: [job('a', '2026-11-20T08:00:00.000Z')], next: null })
    putJob(cache, job('a', '2026-11-20T08:00:01.000Z', 'later'))
    putJob(cache, job('a', '2026-11-20T07:00:00.000Z', 'earlier'))
    putJob(cache, job('b', '2026-11-20T07:00:00.000Z'))
    expect(names(cache)).toEqual(['later', 'b'])
  })
  it('reads the slots anew when a miss reaches the inbox, and not for other items', () => {
    const cache = new QueryClient()
    const asked = vi.spyOn(cache, 'invalidateQueries')
    const tell = (kind: string) => {
      const data = { kind: 'inbox.raised', subject: { kind: 'inbox', id: 'i', name: '' }, data: { item: { kind } } }
      dispatch(schedulePatches, { kind: 'inbox.raised', data }, cache)
      vi.advanceTimersByTime(1000)
    }
    tell('task_blocked')
    expect(asked).not.toHaveBeenCalled()
    tell('job_missed')
    expect(asked).toHaveBeenCalledWith({ queryKey: ['schedules', 'slots'] })
  })
  it('takes no notice of what it does not know', () => {
    const cache = new QueryClient()
    for (const data of [null, 1, {}, { changed: 'a', gone: [1] }])
      dispatch(schedulePatches, { kind: 'jobs.changed', data }, cache)
    expect(names(cache)).toBeUndefined()
  })
})
