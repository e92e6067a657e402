import { comparable } from '../app/comparable'
import type { Person } from '../app/queries'
import type { TaskSearch } from './search'
import type { TaskCard } from './task'

/** The search parameters that select tasks. */
export type Filters = Pick<
  TaskSearch,
  'q' | 'status' | 'priority' | 'type' | 'assignee' | 'project' | 'tag' | 'blocked'
>

export function filtersOf(s: TaskSearch): Filters {
  const { q, status, priority, type, assignee, project, tag, blocked } = s
  return Object.fromEntries(
    Object.entries({ q, status, priority, type, assignee, project, tag, blocked }).filter(([, v]) => v),
  ) as Filters
}

export const isFiltered = (f: Filters): boolean => Object.values(f).some(Boolean)

/**
 * Returns whether a task matches the filters, by the server's rules, so that a changed task disappears without a
 * refetch.
 */
export function fits(task: TaskCard, f: Filters, me: string | undefined, people: ReadonlyMap<string, Person>): boolean {
  const among = (list: string | undefined, v: string) => !list || list.split(',').includes(v)
  if (task.archived_at !== null) return false
  if (!among(f.status, task.status) || !among(f.priority, task.priority) || !among(f.type, task.type)) return false
  if (f.blocked && (task.blocked !== null) !== (f.blocked === 'true')) return false
  if (f.tag && !f.tag.split(',').some(t => task.tags?.some(own => comparable(own) === comparable(t)))) return false
  if (f.q && !comparable(`${task.key} ${task.title}`).includes(comparable(f.q))) return false
  // Tasks don't contain project keys, so the server has to match those.
  if (!f.assignee) return true
  if (f.assignee === 'none') return task.assignee_id === null
  if (task.assignee_id === null) return false
  const id = f.assignee === 'me' ? me : f.assignee
  return task.assignee_id === id || people.get(task.assignee_id)?.agent === id
}

/** Clears all filters. */
export const cleared = {
  q: undefined,
  status: undefined,
  priority: undefined,
  type: undefined,
  assignee: undefined,
  project: undefined,
  tag: undefined,
  blocked: undefined,
  saved: undefined,
} satisfies TaskSearch
