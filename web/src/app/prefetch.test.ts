import { infiniteQueryOptions, QueryClient, queryOptions } from '@tanstack/react-query'
import { describe, expect, it, vi } from 'vitest'
import { known, knownList } from './prefetch'

const client = () => new QueryClient({ defaultOptions: { queries: { retry: false } } })

describe('what a place asks before it is shown', () => {
  it('is asked once, however old the answer is', async () => {
    const cache = client()
    const answer = vi.fn(async () => 'first')
    const question = queryOptions({ queryKey: ['q'], queryFn: answer, staleTime: 0 })
    expect(await known(cache, question)).toBe('first')
    expect(await known(cache, question)).toBe('first')
    expect(answer).toHaveBeenCalledTimes(1)
  })

  it('is left to the place when it was refused, which shows that', async () => {
    const cache = client()
    const answer = vi.fn(async () => Promise.reject(new Error('refused')))
    const question = queryOptions({ queryKey: ['q'], queryFn: answer })
    await expect(known(cache, question)).rejects.toThrow('refused')
    expect(await known(cache, question)).toBeUndefined()
    expect(answer).toHaveBeenCalledTimes(1)
    expect(cache.getQueryState(['q'])?.status).toBe('error')
  })

  it('is left to the place when it has become other, such as the latest standup when it was deleted', async () => {
    const cache = client()
    const question = queryOptions({ queryKey: ['q'], queryFn: async () => 'gone' })
    await known(cache, question)
    await cache.invalidateQueries({ queryKey: ['q'], refetchType: 'none' })
    expect(await known(cache, question)).toBeUndefined()
  })

  it('is the first part of a list, and all that was read of it stays', async () => {
    const cache = client()
    const part = vi.fn(async ({ pageParam }: { pageParam: number }) => pageParam)
    const list = infiniteQueryOptions({
      queryKey: ['list'],
      queryFn: part,
      initialPageParam: 1,
      getNextPageParam: (last: number) => last + 1,
    })
    await knownList(cache, list)
    expect(cache.getQueryData(list.queryKey)?.pages).toEqual([1])
    cache.setQueryData(list.queryKey, { pages: [1, 2], pageParams: [1, 2] })
    await knownList(cache, list)
    expect(cache.getQueryData(list.queryKey)?.pages).toEqual([1, 2])
    expect(part).toHaveBeenCalledTimes(1)
  })
})
