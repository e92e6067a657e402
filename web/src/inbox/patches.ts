import type { Schemas } from '../api/client'
import { eventOf, type Happened, type Patch, rereadSoon } from '../app/live/patches'
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

/** Events contain the whole item except its details. Only changed details are refetched. */
export const inboxPatches: readonly Patch[] = [
  {
    on: ['inbox.'],
    apply: (happened, cache) => {
      const told = toldOf(happened)
      if (!told) return
      const { item, changes } = told
      putItem(cache, item)
      if ('detail' in changes) rereadSoon(cache, ['inbox', 'one', item.id])
      rereadSoon(cache, ['inbox', 'history', item.id])
      rereadSoon(cache, ['inbox', 'open'])
    },
  },
]
