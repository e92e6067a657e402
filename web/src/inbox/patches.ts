import type { QueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../api/client'
import { eventOf, gathered, type Happened, type Patch, rereadSoon } from '../app/live/patches'
import type { Told } from './item'
import { putItem } from './queries'

/** Returns the item (without details) and the changes in an inbox event. */
export function toldOf(happened: Happened): { event: Schemas['Event']; item: Told; changes: object } | null {
  const event = eventOf(happened)
  const data: unknown = event?.data
  if (event?.subject.kind !== 'inbox' || typeof data !== 'object' || data === null || !('item' in data)) return null
  const changes = 'changes' in data && typeof data.changes === 'object' && data.changes !== null ? data.changes : {}
  return { event, item: data.item as Told, changes }
}

let cacheOf: QueryClient | null = null

/** Refetches the items whose details are new; at most the first ones, because they only add a line to their rows. */
const readDetails = gathered(ids => {
  const cache = cacheOf
  if (!cache) return
  for (const id of ids.slice(0, 20)) {
    take(api.GET('/api/v1/inbox/{id}', { params: { path: { id } } })).then(
      item => putItem(cache, item),
      () => undefined, // the row stays without its details
    )
  }
})

const isListed = (cache: QueryClient): boolean =>
  cache.getQueryCache().find({ queryKey: ['inbox', 'list'], exact: false }) !== undefined

/** Events contain the whole item except its details, which are refetched when they are new. */
export const inboxPatches: readonly Patch[] = [
  {
    on: ['inbox.'],
    apply: (happened, cache) => {
      const told = toldOf(happened)
      if (!told) return
      const { event, item, changes } = told
      putItem(cache, item)
      if (event.kind === 'inbox.raised' || 'detail' in changes) {
        rereadSoon(cache, ['inbox', 'one', item.id])
        cacheOf = cache
        if (isListed(cache)) readDetails(item.id)
      }
      rereadSoon(cache, ['inbox', 'history', item.id])
      rereadSoon(cache, ['inbox', 'needs'])
    },
  },
]
