import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Button } from '../ui/Button'
import { Empty, Failed, NoneFit, Skeleton, Stale } from '../ui/Views'
import { historyQuery } from './queries'
import { JobRow, SessionHeads, SessionRow } from './Rows'
import { SessionList } from './SessionList'
import type { Go, SessionsSearch } from './search'
import { type Archived, byDay } from './session'
import { cleared, isFiltered } from './Toolbar'
import { useListNames } from './useListNames'
import { useOpenJobs } from './useOpenJobs'

const words = sessionsWords
const listing = { idOf: (a: Archived) => a.id, atOf: (a: Archived) => a.last_at }

/** The archived sessions by day, which stay when the runtime deletes theirs. */
export function Archive({ search, go }: { search: SessionsSearch; go: Go }) {
  const { q, agent, kind, status, from, to } = search
  const asked = useInfiniteQuery(historyQuery({ q, agent, kind, status, from, to }))
  const { data, hasNextPage, isFetching, fetchNextPage, error } = asked
  const rows = useMemo(() => [...new Map(data?.pages.flatMap(p => p.rows).map(r => [r.id, r])).values()], [data])
  const names = useListNames(rows)
  const { open, onJob } = useOpenJobs(search, go)
  const items = useMemo(() => byDay(rows, { ...listing, open, now: Date.now() }), [rows, open])
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
      <SessionHeads />
      <SessionList
        items={items}
        label={words.view.history}
        onEnd={onEnd}
        onJob={onJob}
        to={a => a.id}
        views={{
          active: () => null,
          row: (a, inJob) => <SessionRow inJob={inJob} names={names} of={a} to={a.id} />,
          job: item => <JobRow item={item} names={names} onToggle={() => onJob(item.id, !item.open)} />,
        }}
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
