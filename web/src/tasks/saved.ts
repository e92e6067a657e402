import type { SavedView } from '../app/view'
import { search as read, type TaskSearch } from './route'

/** What of an address belongs to a view: which tasks, in which order, and how; not which one is open. */
const parts = ['q', 'status', 'priority', 'type', 'assignee', 'project', 'tag', 'blocked', 'sort'] as const

/** A view as the text under which it is kept. Two that show the same are the same text. */
export function textOf(search: TaskSearch, view: 'board' | 'table'): string {
  const params = new URLSearchParams({ view })
  for (const part of parts) {
    const value = search[part]
    if (value) params.set(part, value)
  }
  return params.toString()
}

/** The change of the address that shows a kept view. What its text has of nonsense is left out. */
export function addressOf(kept: SavedView): TaskSearch {
  const of = read(Object.fromEntries(new URLSearchParams(kept.search)))
  const all: TaskSearch = { view: of.view, saved: kept.name }
  for (const part of parts) Object.assign(all, { [part]: of[part] })
  return all
}

/** The kept views with one more, or with another under the same name; by name. */
export const withView = (all: readonly SavedView[], next: SavedView): SavedView[] =>
  [...without(all, next.name), next].sort((a, b) => a.name.localeCompare(b.name))

export const without = (all: readonly SavedView[], name: string): SavedView[] => all.filter(v => v.name !== name)
