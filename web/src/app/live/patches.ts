import type { QueryClient, QueryKey } from '@tanstack/react-query'
import type { Schemas } from '../../api/client'

/** A frame of the event stream. */
export interface Happened {
  /** The frame's name: `task.changed`, `session.gone`, `reset`. */
  kind: string
  /** The frame's data; an event of the activity log if the frame had an ID. */
  data: unknown
}

/** Applies some of the frames to the query cache. */
export interface Patch {
  /** Frame names. A trailing dot matches a prefix: `task.` matches all task events. */
  on: readonly string[]
  apply: (happened: Happened, cache: QueryClient) => void
}

/** Calls the patches that match a frame. */
export function dispatch(patches: readonly Patch[], happened: Happened, cache: QueryClient): void {
  for (const patch of patches) {
    if (patch.on.some(name => name === happened.kind || (name.endsWith('.') && happened.kind.startsWith(name)))) {
      patch.apply(happened, cache)
    }
  }
}

/** Returns the activity event in a frame, with the changed task if the frame contains it, or null. */
export function eventOf(happened: Happened): (Schemas['Event'] & { task?: Schemas['Task'] }) | null {
  const v = happened.data
  return typeof v === 'object' && v !== null && 'subject' in v && 'kind' in v ? (v as Schemas['Event']) : null
}

type Rows<T> = T[] | { rows: T[] } | { pages: { rows: T[] }[] } | undefined

/** Maps the rows of a cached answer. Returns the same object when no row changed. */
export function mapRows<T, D extends Rows<T>>(data: D, f: (row: T) => T): D {
  let changed = false
  const through = (rows: T[]): T[] => {
    const next = rows.map(f)
    if (!next.some((row, i) => row !== rows[i])) return rows
    changed = true
    return next
  }
  if (data === undefined) return data
  let next: Rows<T>
  if (Array.isArray(data)) next = through(data)
  else if ('rows' in data) next = { ...data, rows: through(data.rows) }
  else next = { ...data, pages: data.pages.map(page => ({ ...page, rows: through(page.rows) })) }
  return changed ? (next as D) : data
}

/**
 * Replaces a row in every cached list under `key` where the given row is newer, so that a slow response can't undo a
 * later change.
 */
export function patchRow<T>(
  cache: QueryClient,
  key: QueryKey,
  row: T,
  same: (a: T, b: T) => boolean,
  newer: (next: T, was: T) => boolean,
): void {
  cache.setQueriesData<Rows<T>>({ queryKey: key }, data =>
    mapRows(data, (was: T) => (same(was, row) && newer(row, was) ? row : was)),
  )
}

/** How long changes are collected before a refetch, in ms. */
const gather = 250
const waiting = new Map<string, ReturnType<typeof setTimeout>>()

/** Invalidates `key`, once for all changes within a short time. */
export function rereadSoon(cache: QueryClient, key: QueryKey): void {
  const name = JSON.stringify(key)
  if (waiting.has(name)) return
  waiting.set(
    name,
    setTimeout(() => {
      waiting.delete(name)
      void cache.invalidateQueries({ queryKey: key })
    }, gather),
  )
}

/** Refetches failed queries on screen: they may have failed only because the connection was down. */
export function rereadFailed(cache: QueryClient): void {
  // Queries that are already loading are not fetched twice.
  void cache.refetchQueries({ type: 'active', predicate: q => q.state.status === 'error' }, { cancelRefetch: false })
}

/** Returns a function that collects items for a moment and passes each once to f. */
export function gathered<T = string>(f: (items: T[]) => void): (item: T) => void {
  let items = new Set<T>()
  return item => {
    if (items.size === 0) {
      setTimeout(() => {
        const all = [...items]
        items = new Set()
        f(all)
      }, gather / 5)
    }
    items.add(item)
  }
}
