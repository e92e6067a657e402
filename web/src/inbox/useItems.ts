import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useMe, usePeople } from '../app/queries'
import { useHeldRows } from '../ui/useHeldRows'
import { sorted, type Told } from './item'
import { type Filters, fits } from './itemFilters'
import { latest, listQuery } from './queries'

const idOf = (i: Told) => i.id

/** What the user has to handle. */
export const needsMe: Filters = { needsMe: true }

/** Returns the matching items as they are now, and their query. */
export function useFitting(filters: Filters) {
  const asked = useInfiniteQuery(listQuery(filters))
  const me = useMe().data?.id
  const people = usePeople()
  const fitting = useMemo(() => {
    if (!asked.data) return undefined
    const rows = new Map<string, Told>()
    for (const page of asked.data.pages) for (const i of page.rows) rows.set(i.id, latest.of(i) ?? i)
    const there = [...rows.values()].filter(i => fits(i, filters, me, people))
    return sorted(there, filters.order)
  }, [asked.data, filters, me, people])
  return { asked, fitting }
}

/** Returns the matching items like `useFitting`, but new ones wait until the user shows them. */
export function useItems(filters: Filters) {
  const { asked, fitting } = useFitting(filters)
  const held = useHeldRows(fitting, idOf, JSON.stringify(filters), asked.isFetchingNextPage)
  return { asked: { ...asked, data: held.rows }, waiting: held.waiting, show: held.show }
}
