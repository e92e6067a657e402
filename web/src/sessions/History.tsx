import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { grouped, unknown } from '../app/format'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { AgentName } from '../ui/Face'
import type { TableColumn } from '../ui/Table'
import { Empty, Failed, NoneFit, Skeleton, Stale } from '../ui/Views'
import { costOf, EndMark, kindName, modelName, NameAndLast, TaskLink, useAgentNames } from './Bits'
import { historyQuery } from './queries'
import { Rows } from './Rows'
import type { Go, SessionsSearch } from './search'
import { type Archived, type Item, nameOf } from './session'
import { cleared, isFiltered } from './Toolbar'

const words = sessionsWords
const f = words.fields

/** The archived sessions, which stay when the runtime deletes theirs. */
export function History({ search, go }: { search: SessionsSearch; go: Go }) {
  const { q, agent, kind, status, from, to } = search
  const asked = useInfiniteQuery(historyQuery({ q, agent, kind, status, from, to }))
  const { data, hasNextPage, isFetching, fetchNextPage, error } = asked
  const agents = useAgentNames()
  const items = useMemo<Item<Archived>[]>(() => {
    const rows = new Map(data?.pages.flatMap(p => p.rows).map(r => [r.id, r]))
    return [...rows.values()].map(row => ({ type: 'row', id: row.id, row, inJob: false }))
  }, [data])
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching && !error) void fetchNextPage()
  }, [hasNextPage, isFetching, error, fetchNextPage])
  if (!data) {
    return error ? (
      <Failed again={() => void asked.refetch()} error={error} what={`${texts.ui.couldNotLoad} ${words.what}.`} />
    ) : (
      <Skeleton label={`${texts.ui.loading} ${words.what}`} />
    )
  }
  if (items.length === 0) return <Nothing filtered={isFiltered(search)} go={go} />
  return (
    <>
      {error ? <Stale error={error} since={asked.dataUpdatedAt} /> : null}
      <Rows
        below={a => <Below agents={agents} of={a} />}
        columns={columnsOf(agents)}
        groupName={item => item.id}
        items={items}
        label={words.view.history}
        nameOf={nameOf}
        onEnd={onEnd}
        to={a => a.id}
      />
      <p aria-live="polite" className="flex shrink-0 items-center gap-2 px-3 py-1 text-soft text-xs">
        {asked.isFetchingNextPage ? words.readingMore : hasNextPage ? null : texts.ui.thatIsAll}
        {error && hasNextPage ? (
          <Button icon="reload" onClick={() => void fetchNextPage()}>
            {texts.ui.tryAgain}
          </Button>
        ) : null}
      </p>
    </>
  )
}

function Nothing({ filtered, go }: { filtered: boolean; go: Go }) {
  return filtered ? (
    <NoneFit clear={words.filters.clear} onClear={() => go(cleared)} title={words.noneFit} />
  ) : (
    <Empty
      action={<Button onClick={() => go({ show: undefined })}>{words.historyEmptyAction}</Button>}
      icon="archive"
      title={words.historyEmptyTitle}
    >
      {words.historyEmptyText}
    </Empty>
  )
}

function Below({ of: a, agents }: { of: Archived; agents: ReadonlyMap<string, string> }) {
  return (
    <span className="flex min-w-0 items-center gap-2 text-soft text-xs">
      <EndMark of={a} />
      <AgentName id={a.agent_id} name={agents.get(a.agent_id) ?? a.agent_id} />
      <span className="shrink-0">{costOf(a)}</span>
      <Age at={a.last_at} className="ml-auto shrink-0" />
    </span>
  )
}

const columnsOf = (agents: ReadonlyMap<string, string>): TableColumn<Archived>[] => [
  {
    id: 'session',
    label: f.session,
    width: 'minmax(14rem,1fr)',
    cell: a => <NameAndLast of={a} />,
  },
  { id: 'state', label: f.state, width: '11.5rem', cell: a => <EndMark of={a} /> },
  {
    id: 'agent',
    label: f.agent,
    width: '7rem',
    cell: a => (a.agent_id ? <AgentName id={a.agent_id} name={agents.get(a.agent_id) ?? a.agent_id} /> : words.noAgent),
  },
  { id: 'kind', label: f.kind, width: '6.5rem', cell: a => <bdi className="truncate">{kindName(a.kind)}</bdi> },
  { id: 'task', label: f.task, width: '6rem', cell: a => <TaskLink of={a.key} /> },
  {
    id: 'model',
    label: f.model,
    width: '9rem',
    cell: a => <bdi className="truncate text-soft">{a.model === null ? unknown : modelName(a.model)}</bdi>,
  },
  { id: 'messages', label: f.messages, width: '6rem', cell: a => grouped(a.messages) },
  { id: 'cost', label: f.cost, width: '8rem', cell: a => <span className="truncate">{costOf(a)}</span> },
  { id: 'last', label: f.last, width: '6rem', cell: a => <Age at={a.last_at} /> },
]
