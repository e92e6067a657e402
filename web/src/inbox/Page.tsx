import { type QueryClient, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { known, knownList } from '../app/prefetch'
import { queries } from '../app/queries'
import { useTitle } from '../app/title'
import { useGo } from '../app/useGo'
import { NeverAsks } from '../approvals/NeverAsks'
import { texts } from '../texts'
import { inbox as inboxWords } from '../texts/inbox'
import { Button } from '../ui/Button'
import { LoadMore } from '../ui/LoadMore'
import { Answer, Empty, NewRows, NoneFit } from '../ui/Views'
import { Detail } from './Detail'
import { cleared, Filters } from './Filters'
import { buttonOf, ItemList } from './ItemList'
import { filtersOf, type Filters as ItemFilters, isFiltered } from './itemFilters'
import { listQuery, oneQuery } from './queries'
import type { Go, InboxSearch } from './search'
import { useItemActions } from './useItemActions'
import { useItems } from './useItems'

const inboxRoute = getRouteApi('/frame/inbox')

const words = inboxWords

/** Prefetches the list, for users who may read it. */
export async function ask(cache: QueryClient, search: InboxSearch): Promise<void> {
  const me = await known(cache, queries.me)
  if (me && me.role !== 'agent') await knownList(cache, listQuery(filtersOf(search)))
}

/** The inbox: the list with one item beside it. A small screen shows either the list or the item. */
export function InboxPage() {
  const search = inboxRoute.useSearch()
  const verbs = useItemActions()
  const go: Go = useGo('/inbox')
  const filters = useMemo(() => filtersOf(search), [search])
  const { asked, waiting, show } = useItems(filters)
  const { list, pane, open, move, back } = usePanes(search.item, go)
  // Without a choice, the first item is shown where there is room for it.
  const shown = search.item ?? asked.data?.[0]?.id
  const item = useQuery({ ...oneQuery(search.item ?? ''), enabled: search.item !== undefined }).data
  useTitle(search.item ? item?.title : undefined, texts.app.places.inbox)
  return (
    <div className="flex h-full min-h-0">
      <div
        ref={list}
        className={`min-w-0 flex-col ${search.item ? 'hidden lg:flex' : 'flex'} ${shown ? 'w-full border-line lg:w-[24rem] lg:shrink-0 lg:border-r xl:w-[30rem]' : 'grow'}`}
      >
        <Filters go={go} search={search} />
        <div className="min-h-0 grow overflow-y-auto">
          <h2 className="sr-only">{texts.app.places.inbox}</h2>
          <NewRows count={waiting} onShow={show} />
          <Answer of={asked} what={words.what}>
            {items =>
              items.length === 0 ? (
                <Nothing filters={filters} go={go} />
              ) : (
                <ItemList
                  beside
                  inGroups={!search.order}
                  items={items}
                  onMove={move}
                  onOpen={open}
                  opened={shown}
                  verbs={verbs}
                />
              )
            }
          </Answer>
          <LoadMore className="justify-center pb-3" of={asked} />
        </div>
      </div>
      {shown && (
        <Detail
          key={shown}
          className={search.item ? 'flex' : 'hidden lg:flex'}
          id={shown}
          onBack={() => back(shown)}
          pane={pane}
          verbs={verbs}
        />
      )}
      {verbs.questions}
    </div>
  )
}

/** Returns whether an element is not displayed. */
const isHidden = (element: HTMLElement | null): boolean => element?.offsetParent === null

/** Moves between the list and the item, with the focus. Only one of the two is visible on a small screen. */
function usePanes(item: string | undefined, go: Go) {
  const list = useRef<HTMLDivElement>(null)
  const pane = useRef<HTMLElement>(null)
  const open = useCallback(
    (id: string, byKey = false) => {
      go({ item: id }, item !== undefined)
      if (byKey) setTimeout(() => pane.current?.focus())
    },
    [go, item],
  )
  /** Shows the item that j, k, or the removal of a row leads to. A small screen returns to the list instead. */
  const move = (id: string | null) => go({ item: isHidden(list.current) ? undefined : (id ?? undefined) }, true)
  const back = (id: string) => {
    // Browser back must not open it again.
    if (isHidden(list.current)) go({ item: undefined }, true)
    setTimeout(() => buttonOf(list.current, id)?.focus())
  }
  useEffect(() => {
    if (item !== undefined && isHidden(list.current)) pane.current?.focus()
  }, [item])
  return { list, pane, open, move, back }
}

function Nothing({ filters, go }: { filters: ItemFilters; go: Go }) {
  return isFiltered(filters) ? (
    <>
      {filters.kind === 'approval' && (
        <div className="mx-4">
          <NeverAsks />
        </div>
      )}
      <NoneFit clear={words.filters.clear} onClear={() => go(cleared)} title={words.noneFit} />
    </>
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
