import { type QueryClient, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { known, knownList } from '../app/prefetch'
import { queries } from '../app/queries'
import { useTitle } from '../app/title'
import { useGo } from '../app/useGo'
import { texts } from '../texts'
import { inbox as inboxWords } from '../texts/inbox'
import { Button } from '../ui/Button'
import { LoadMore } from '../ui/LoadMore'
import { Answer, Empty, NewRows, NoneFit } from '../ui/Views'
import { cleared, Filters } from './Filters'
import { ItemList } from './ItemList'
import { filtersOf, isFiltered } from './itemFilters'
import { Panel } from './Panel'
import { listQuery, oneQuery } from './queries'
import type { Go, InboxSearch } from './search'
import { type ItemActions, useItemActions } from './useItemActions'
import { useItems } from './useItems'

const inboxRoute = getRouteApi('/frame/inbox')

const words = inboxWords

/** Prefetches the list, for users who may read it. */
export async function ask(cache: QueryClient, search: InboxSearch): Promise<void> {
  const me = await known(cache, queries.me)
  if (me && me.role !== 'agent') await knownList(cache, listQuery(filtersOf(search)))
}

/** The inbox: a ranked list, with one item beside it. */
export function InboxPage() {
  const search = inboxRoute.useSearch()
  const verbs = useItemActions()
  const go: Go = useGo('/inbox')
  const close = useCallback(() => {
    const id = search.item
    go({ item: undefined }, true)
    // Returns the focus to the row of the closed item.
    setTimeout(() => document.querySelector<HTMLElement>(`[data-item="${CSS.escape(id ?? '')}"]`)?.focus())
  }, [go, search.item])
  const open = useQuery({ ...oneQuery(search.item ?? ''), enabled: search.item !== undefined }).data
  useTitle(search.item ? open?.title : undefined, texts.app.places.inbox)
  return (
    <div className="flex h-full min-h-0">
      <div className="flex min-w-0 grow flex-col">
        <Filters go={go} search={search} />
        <List go={go} search={search} verbs={verbs} />
      </div>
      {search.item && <Panel key={search.item} id={search.item} onClose={close} verbs={verbs} />}
      {verbs.questions}
    </div>
  )
}

function List({ search, go, verbs }: { search: InboxSearch; go: Go; verbs: ItemActions }) {
  const filters = useMemo(() => filtersOf(search), [search])
  const { asked, waiting, show } = useItems(filters)
  return (
    <div className="min-h-0 grow overflow-y-auto">
      <h2 className="sr-only">{texts.app.places.inbox}</h2>
      <NewRows count={waiting} onShow={show} />
      <Answer of={asked} what={words.what}>
        {items =>
          items.length === 0 ? (
            <Nothing filtered={isFiltered(filters)} go={go} />
          ) : (
            <ItemList items={items} onOpen={item => go({ item })} opened={search.item} verbs={verbs} />
          )
        }
      </Answer>
      <LoadMore className="justify-center pb-3" of={asked} />
    </div>
  )
}

function Nothing({ filtered, go }: { filtered: boolean; go: Go }) {
  return filtered ? (
    <NoneFit clear={words.filters.clear} onClear={() => go(cleared)} title={words.noneFit} />
  ) : (
    <Empty
      action={<Button onClick={() => go({ state: 'resolved', order: '-last' })}>{words.seeResolved}</Button>}
      icon="inbox"
      title={words.empty}
    >
      {words.emptyText}
    </Empty>
  )
}
