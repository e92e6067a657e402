import type { QueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { useKeys } from '../app/keys'
import { knownList } from '../app/prefetch'
import { askPeople, useMe, usePeople } from '../app/queries'
import { useTitle } from '../app/title'
import { useGo } from '../app/useGo'
import { setView, useView } from '../app/view'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { Guarded } from '../ui/Guarded'
import { useHeldRows } from '../ui/useHeldRows'
import { Empty, Failed, NewRows, NoneFit, Partial, Skeleton, Stale } from '../ui/Views'
import { Board } from './Board'
import { Create } from './Create'
import { Panel } from './Panel'
import { listQuery, useTasks } from './queries'
import type { Go, TaskSearch } from './search'
import { TaskTable } from './TaskTable'
import { Toolbar } from './Toolbar'
import type { TaskCard } from './task'
import { cleared, filtersOf, fits, isFiltered } from './taskFilters'

const tasksRoute = getRouteApi('/frame/tasks')

const words = texts.tasks
const noNew: TaskSearch = { new: undefined }

/** Prefetches the first page of tasks. */
export const ask = (cache: QueryClient, search: TaskSearch): Promise<unknown> =>
  Promise.all([askPeople(cache), knownList(cache, listQuery(filtersOf(search)))])

/** The tasks as a board or table, with one of them beside the list. */
export function TasksPage() {
  const search = tasksRoute.useSearch()
  const kept = useView().tasks
  const view = search.view ?? kept
  const go: Go = useGo('/tasks')
  const open = useCallback((key: string | undefined) => go({ task: key }, key === undefined), [go])
  const setBoard = (next: 'board' | 'table') => {
    setView({ tasks: next })
    go({ view: next }, true)
  }
  useTitle(search.task, search.saved, texts.app.places.tasks)
  useKeys([
    { keys: 'c', label: words.keys.create, run: () => go({ new: '1' }) },
    { keys: 'v', label: words.keys.view, run: () => setBoard(view === 'board' ? 'table' : 'board') },
  ])
  const close = useCallback(() => {
    const key = search.task
    open(undefined)
    // Returns the focus to the card or row of the closed task.
    setTimeout(() => document.querySelector<HTMLElement>(`[data-task="${CSS.escape(key ?? '')}"]`)?.focus())
  }, [open, search.task])
  return (
    <div className="flex h-full min-h-0">
      <div className="flex min-w-0 grow flex-col">
        <Toolbar go={go} onView={setBoard} search={search} view={view} />
        <List go={go} onOpen={open} search={search} view={view} />
      </div>
      {search.task && <Panel key={search.task} onClose={close} onOpen={open} task={search.task} />}
      <Create
        defaults={search}
        onClose={() => go(noNew, true)}
        onCreated={key => go({ ...noNew, task: key })}
        open={search.new !== undefined}
      />
    </div>
  )
}

interface ListProps {
  search: TaskSearch
  view: 'board' | 'table'
  go: Go
  onOpen: (key: string) => void
}

function List({ search, view, go, onOpen }: ListProps) {
  const filters = useMemo(() => filtersOf(search), [search])
  const asked = useTasks(filters)
  const me = useMe().data?.id
  const people = usePeople()
  const fitting = useMemo(
    () => asked.tasks?.filter(t => fits(t, filters, me, people)),
    [asked.tasks, filters, me, people],
  )
  const held = useHeldRows(fitting, idOf, JSON.stringify(filters), asked.reading)
  if (fitting === undefined || held.rows === undefined) {
    return asked.error ? (
      <Failed again={() => void asked.refetch()} error={asked.error} what={`${texts.ui.couldNotLoad} ${words.what}.`} />
    ) : (
      <Skeleton label={`${texts.ui.loading} ${words.what}`} />
    )
  }
  return (
    <>
      {asked.error ? <Stale error={asked.error} since={asked.dataUpdatedAt} /> : null}
      {asked.cut && <Partial>{words.tooMany(fitting.length)}</Partial>}
      <NewRows count={held.waiting} onShow={held.show} />
      {held.rows.length === 0 && !asked.reading ? (
        <Nothing filtered={isFiltered(filters)} onClear={() => void go(cleared)} onCreate={() => go({ new: '1' })} />
      ) : (
        <Guarded resetKey={held.rows}>
          {view === 'board' ? (
            <Board
              onOpen={onOpen}
              opened={search.task}
              people={people}
              reading={asked.reading}
              statuses={filters.status}
              tasks={held.rows}
            />
          ) : (
            <TaskTable
              onOpen={onOpen}
              onSort={sort => go({ sort } as TaskSearch, true)}
              opened={search.task}
              people={people}
              sort={search.sort ?? 'status'}
              tasks={held.rows}
            />
          )}
        </Guarded>
      )}
    </>
  )
}

const idOf = (t: TaskCard) => t.id

function Nothing({ filtered, onClear, onCreate }: { filtered: boolean; onClear: () => void; onCreate: () => void }) {
  return filtered ? (
    <NoneFit clear={words.filters.clear} onClear={onClear} title={words.noneFit} />
  ) : (
    <Empty
      action={
        <Button icon="plus" look="primary" onClick={onCreate}>
          {words.create}
        </Button>
      }
      icon="tasks"
      title={words.emptyTitle}
    >
      {words.emptyText}
    </Empty>
  )
}
