import type { QueryClient } from '@tanstack/react-query'
import { api, ifMatch, take } from '../api/client'
import { type Price, type Prices, pricesQuery } from './queries'

/**
 * Saves the price table with a change. The request names the version that the user has seen, so that the server refuses
 * it if someone else changed the table.
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
  // Unpriced runs get their price shortly; the stream reports it.
  void cache.invalidateQueries({ queryKey: ['models'] })
  return made
}
