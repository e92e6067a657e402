import type {
  InfiniteData,
  InfiniteQueryExecuteOptions,
  QueryClient,
  QueryExecuteOptions,
  QueryKey,
} from '@tanstack/react-query'

/** Returns whether the page refetches this query when it mounts, because it failed or was invalidated. */
function isForThePlace(cache: QueryClient, key: QueryKey): boolean {
  const state = cache.getQueryState(key)
  return state?.status === 'error' || state?.isInvalidated === true
}

/** Returns the cached answer of a query, or fetches it. Undefined when the page refetches the query itself. */
export async function known<T, K extends QueryKey>(
  cache: QueryClient,
  question: QueryExecuteOptions<T, Error, T, T, K>,
): Promise<T | undefined> {
  if (isForThePlace(cache, question.queryKey)) return undefined
  return cache.query({ ...question, staleTime: 'static' })
}

/** Like `known`, for the first page of an infinite list. */
export async function knownList<T, K extends QueryKey, P>(
  cache: QueryClient,
  question: InfiniteQueryExecuteOptions<T, Error, InfiniteData<T>, K, P>,
): Promise<void> {
  if (!isForThePlace(cache, question.queryKey)) await cache.infiniteQuery({ ...question, staleTime: 'static' })
}
