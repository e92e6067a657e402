import type { Person } from '../app/queries'
import { needs, type Told, waiting } from './item'
import type { InboxSearch } from './search'

/** The search parameters that select and sort items, and whether only those that need the user are wanted. */
export type Filters = Pick<InboxSearch, 'state' | 'kind' | 'severity' | 'assignee' | 'order'> & { needsMe?: true }

export function filtersOf({ state, kind, severity, assignee, order }: InboxSearch): Filters {
  return Object.fromEntries(
    Object.entries({ state, kind, severity, assignee, order }).filter(([, v]) => v !== undefined),
  ) as Filters
}

/** Returns the number of filters that are set. The order is not a filter. */
export const filterCount = ({ order: _, ...rest }: Filters): number => Object.values(rest).filter(Boolean).length

export const isFiltered = (filters: Filters): boolean => filterCount(filters) > 0

/**
 * Returns whether an item matches the filters, by the server's rules, so that changed items appear and disappear at
 * once.
 */
export function fits(item: Told, f: Filters, me: string | undefined, people: ReadonlyMap<string, Person>): boolean {
  const among = (list: string | undefined, v: string) => !list || list.split(',').includes(v)
  if (!among(f.state ?? waiting.join(), item.state)) return false
  if (!among(f.kind, item.kind) || !among(f.severity, item.severity)) return false
  if (f.needsMe && !needs(item, me)) return false
  if (!f.assignee) return true
  if (f.assignee === 'none') return item.assignee === null
  if (item.assignee === null) return false
  const id = f.assignee === 'me' ? me : f.assignee
  // Items don't include emails, so the server has to match those.
  return item.assignee.id === id || (f.assignee !== 'me' && !people.has(f.assignee))
}
