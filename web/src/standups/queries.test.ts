import { QueryClient } from '@tanstack/react-query'
import { describe, expect, it } from 'vitest'
import { dropStandup, putStandup } from './queries'
import type { Brief, Standup } from './standup'

const make = (id: string, date: string, version: number, team = 'executive'): Standup =>
  ({ id, date, version, team }) as Standup
const versions = (cache: QueryClient, key: unknown[]) =>
  cache.getQueryData<Brief[]>(key)?.map(s => `${s.id} ${s.version}`)

// A late response must not undo a newer state.
describe('a standup that was read', () => {
  const all = ['standups', 'list', 'executive', '2026-11-01', '2026-11-30']
  const old = ['standups', 'list', 'executive', '2026-10-01', '2026-10-31']
  const latest = ['standups', 'latest', 'executive', '2026-11-20']
  it('takes the place of an older one, and never of a newer', () => {
    const cache = new QueryClient()
    cache.setQueryData(all, [make('a', '2026-11-19', 3)])
    cache.setQueryData(['standups', 'one', 'a'], make('a', '2026-11-19', 3))
    putStandup(cache, make('a', '2026-11-19', 2))
    expect(versions(cache, all)).toEqual(['a 3'])
    expect(cache.getQueryData<Standup>(['standups', 'one', 'a'])?.version).toBe(3)
    putStandup(cache, make('a', '2026-11-19', 4))
    expect(versions(cache, all)).toEqual(['a 4'])
    expect(cache.getQueryData<Standup>(['standups', 'one', 'a'])?.version).toBe(4)
  })
  it('joins the days that it belongs to, and is the latest if it is', () => {
    const cache = new QueryClient()
    cache.setQueryData(all, [make('a', '2026-11-19', 3)])
    cache.setQueryData(old, [])
    cache.setQueryData(latest, null)
    putStandup(cache, make('b', '2026-11-20', 1))
    expect(versions(cache, all)).toEqual(['b 1', 'a 3'])
    expect(versions(cache, old)).toEqual([])
    expect(cache.getQueryData<Brief>(latest)?.id).toBe('b')
    putStandup(cache, make('c', '2026-11-18', 1))
    putStandup(cache, make('d', '2026-11-21', 1))
    putStandup(cache, make('e', '2026-11-20', 9, 'design'))
    expect(versions(cache, all)).toEqual(['d 1', 'b 1', 'a 3', 'c 1'])
    expect(cache.getQueryData<Brief>(latest)?.id).toBe('b')
  })
  it('leaves nothing behind when it is deleted', () => {
    const cache = new QueryClient()
    cache.setQueryData(all, [make('a', '2026-11-19', 3)])
    cache.setQueryData(['standups', 'one', 'a'], make('a', '2026-11-19', 3))
    dropStandup(cache, 'a')
    expect(versions(cache, all)).toEqual([])
    expect(cache.getQueryData(['standups', 'one', 'a'])).toBeUndefined()
  })
})
