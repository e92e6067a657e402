import type { SavedView } from '../app/view'
import { search as read, type TaskSearch } from './search'

/** The search parameters of a view, without the open task. */
const parts = ['q', 'status', 'priority', 'type', 'assignee', 'project', 'tag', 'blocked', 'sort'] as const

/** Returns the canonical text of a view. */
export function textOf(search: TaskSearch, view: 'board' | 'table'): string {
  const params = new URLSearchParams({ view })
  for (const part of parts) {
    const value = search[part]
    if (value) params.set(part, value)
  }
  return params.toString()
}

/** Returns the search parameters of a saved view, without invalid ones. */
export function addressOf(kept: SavedView): TaskSearch {
  const of = read(Object.fromEntries(new URLSearchParams(kept.search)))
  const all: TaskSearch = { view: of.view, saved: kept.name }
  for (const part of parts) Object.assign(all, { [part]: of[part] })
  return all
}

/** Adds or replaces a view, sorted by name. */
export const withView = (all: readonly SavedView[], next: SavedView): SavedView[] =>
  [...without(all, next.name), next].sort((a, b) => a.name.localeCompare(b.name))

export const without = (all: readonly SavedView[], name: string): SavedView[] => all.filter(v => v.name !== name)
