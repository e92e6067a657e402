import type { QueryClient, QueryKey } from '@tanstack/react-query'
import type { Schemas } from '../../api/client'

/** One thing that happened, as the stream told it. */
export interface Happened {
  /** The name of the frame: `task.changed`, `session.gone`, `reset`. */
  kind: string
  /** What the frame holds; an event of the log when it had an id. */
  data: unknown
}

/** What one place does with some of the frames. */
export interface Patch {
  /** Names of frames; `task.` at the end with a dot means all that begin so. */
  on: readonly string[]
  apply: (happened: Happened, cache: QueryClient) => void
}

/** Hands each frame to whoever asked for it. */
export function dispatch(patches: readonly Patch[], happened: Happened, cache: QueryClient): void {
  for (const patch of patches) {
    if (patch.on.some(name => name === happened.kind || (name.endsWith('.') && happened.kind.startsWith(name)))) {
      patch.apply(happened, cache)
    }
  }
}

/** The event of the log that a frame holds, or null when it holds something else. */
export function eventOf(happened: Happened): Schemas['Event'] | null {
  const v = happened.data
  return typeof v === 'object' && v !== null && 'subject' in v && 'kind' in v ? (v as Schemas['Event']) : null
}

type Rows<T> = T[] | { rows: T[] } | { pages: { rows: T[] }[] } | undefined

/** Rows of a cached answer, each through f; the same object when none of them became another. */
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
 * Puts a row that was read anew into every cached list under `key`, where it is
 * newer than what the list has. What was read late must not undo what came since.
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

/** How long changes are gathered before something is read anew because of them, in ms. */
const gather = 250
const waiting = new Map<string, ReturnType<typeof setTimeout>>()

/** Reads what is under `key` anew, once for all that happens within a moment. */
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

/** Reads anew what is on screen and could not be read: it may have failed only because the line was away. */
export function rereadFailed(cache: QueryClient): void {
  // What is being read already is not read twice.
  void cache.refetchQueries({ type: 'active', predicate: q => q.state.status === 'error' }, { cancelRefetch: false })
}

/** Calls f with all ids that were given within a moment, each once. */
export function gathered(f: (ids: string[]) => void): (id: string) => void {
  let ids = new Set<string>()
  return id => {
    if (ids.size === 0) {
      setTimeout(() => {
        const all = [...ids]
        ids = new Set()
        f(all)
      }, gather / 5)
    }
    ids.add(id)
  }
}
