import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { describe, expect, it, vi } from 'vitest'
import { dispatch, mapRows, patchRow, rereadFailed, rereadSoon } from './patches'

const same = (a: { id: string }, b: { id: string }) => a.id === b.id
const newer = (a: { version: number }, b: { version: number }) => a.version > b.version

// A late response must not overwrite a newer row.
describe('patches', () => {
  it('change a row in every list that has it, if it is newer there', () => {
    const cache = new QueryClient()
    cache.setQueryData(
      ['tasks', 'list', 1],
      [
        { id: 'a', version: 1 },
        { id: 'b', version: 1 },
      ],
    )
    cache.setQueryData(['tasks', 'list', 2], { pages: [{ rows: [{ id: 'a', version: 3 }] }], pageParams: [null] })
    cache.setQueryData(['other'], [{ id: 'a', version: 1 }])
    patchRow(cache, ['tasks', 'list'], { id: 'a', version: 2 }, same, newer)
    expect(cache.getQueryData(['tasks', 'list', 1])).toEqual([
      { id: 'a', version: 2 },
      { id: 'b', version: 1 },
    ])
    expect(cache.getQueryData(['tasks', 'list', 2])).toMatchObject({ pages: [{ rows: [{ id: 'a', version: 3 }] }] })
    expect(cache.getQueryData(['other'])).toEqual([{ id: 'a', version: 1 }])
  })

  it('leave an answer the same object when nothing in it changed, so that nothing is drawn', () => {
    const rows = [{ id: 'a', version: 1 }]
    expect(mapRows(rows, (r: { id: string; version: number }) => r)).toBe(rows)
  })

  it('get the frames that they asked for, and no others', () => {
    const got: string[] = []
    const patch = { on: ['task.', 'reset'], apply: (h: { kind: string }) => got.push(h.kind) }
    for (const kind of ['task.changed', 'tasks', 'reset', 'standup.opened', 'task.deleted']) {
      dispatch([{ ...patch, apply: h => void patch.apply(h) }], { kind, data: null }, new QueryClient())
    }
    expect(got).toEqual(['task.changed', 'reset', 'task.deleted'])
  })

  it('read something anew once for a burst', async () => {
    vi.useFakeTimers()
    const cache = new QueryClient()
    const spy = vi.spyOn(cache, 'invalidateQueries')
    for (let i = 0; i < 50; i++) rereadSoon(cache, ['agents'])
    await vi.advanceTimersByTimeAsync(1000)
    expect(spy).toHaveBeenCalledTimes(1)
    vi.useRealTimers()
  })
})

describe('what could not be read', () => {
  it('is read anew where somebody looks at it, and nothing else is', async () => {
    const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } })
    let away = true
    const asked: string[] = []
    const query = (name: string) => ({
      queryKey: [name],
      queryFn: async () => {
        asked.push(name)
        if (away && name !== 'read') throw new Error('away')
        return name
      },
    })
    const stops = ['failed', 'read'].map(name => new QueryObserver(cache, query(name)).subscribe(() => undefined))
    await cache.prefetchQuery(query('left'))
    await vi.waitFor(() => expect(cache.getQueryState(['failed'])?.status).toBe('error'))
    asked.length = 0
    away = false
    rereadFailed(cache)
    rereadFailed(cache)
    await vi.waitFor(() => expect(cache.getQueryData(['failed'])).toBe('failed'))
    expect(asked).toEqual(['failed'])
    for (const stop of stops) stop()
  })
})
