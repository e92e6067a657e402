import type { QueryClient } from '@tanstack/react-query'
import { api, ifMatch, take } from '../api/client'
import { type Price, type Prices, pricesQuery } from './queries'

/**
 * Sends the table that is shown with a change in it. It is based on the version
 * that is shown, or on the one that was when somebody began to write: when another
 * was faster the service refuses it, so that nobody's price is lost unseen.
 */
export async function savePrices(
  cache: QueryClient,
  change: (list: readonly Price[]) => Price[],
  version?: number,
): Promise<Prices> {
  const shown = await cache.query({ ...pricesQuery, staleTime: 'static' })
  const made = await take(
    api.PUT('/api/v1/prices', {
      params: { header: ifMatch(version ?? shown.version) },
      body: { prices: change(shown.prices) },
    }),
  )
  cache.setQueryData(pricesQuery.queryKey, made)
  // What was unpriced is priced now, in a moment; the stream tells of that.
  void cache.invalidateQueries({ queryKey: ['models'] })
  return made
}
