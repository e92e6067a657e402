import type {
  InfiniteData,
  InfiniteQueryExecuteOptions,
  QueryClient,
  QueryExecuteOptions,
  QueryKey,
} from '@tanstack/react-query'

/** Whether a place asks this anew in any case when it is shown: what failed, and what has become other since. */
function isForThePlace(cache: QueryClient, key: QueryKey): boolean {
  const state = cache.getQueryState(key)
  return state?.status === 'error' || state?.isInvalidated === true
}

/** What is known of a question; it is asked when nothing is. Undefined when that is left to the place. */
export async function known<T, K extends QueryKey>(
  cache: QueryClient,
  question: QueryExecuteOptions<T, Error, T, T, K>,
): Promise<T | undefined> {
  if (isForThePlace(cache, question.queryKey)) return undefined
  return cache.query({ ...question, staleTime: 'static' })
}

/** As `known`, of a list that is read in parts: its first part. */
export async function knownList<T, K extends QueryKey, P>(
  cache: QueryClient,
  question: InfiniteQueryExecuteOptions<T, Error, InfiniteData<T>, K, P>,
): Promise<void> {
  if (!isForThePlace(cache, question.queryKey)) await cache.infiniteQuery({ ...question, staleTime: 'static' })
}
