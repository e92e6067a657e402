import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { leads, useMe } from '../app/queries'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { buttonClass } from '../ui/Button'
import { noteOwn, useHeldRows } from '../ui/useHeldRows'
import { Empty, Failed, NewRows, NoneFit, Partial, Skeleton, Stale } from '../ui/Views'
import { LastKnown } from './LastKnown'
import { canonical } from './liveSessions'
import { liveQuery } from './queries'
import { ActiveRow, JobRow, SessionHeads, SessionRow } from './Rows'
import { SessionList } from './SessionList'
import { useStop } from './Stop'
import type { Go, SessionsSearch } from './search'
import { byDay, fits, type Item, type Session } from './session'
import { cleared, isFiltered } from './Toolbar'
import { isAway, Unavailable, UnavailableLine } from './Unavailable'
import { useListNames } from './useListNames'
import { useOpenJobs } from './useOpenJobs'

const words = sessionsWords
const keyOf = (s: Session) => s.key

interface Props {
  search: SessionsSearch
  go: Go
}

/** The runtime's sessions, updated in place by events: active ones first, then the recent ones by day. */
export function Recent({ search, go }: Props) {
  const asked = useQuery(liveQuery)
  const { q, agent, kind, state } = search
  const fitting = useMemo(
    () => asked.data?.rows.filter(s => fits(s, { q, agent, kind, state })),
    [asked.data, q, agent, kind, state],
  )
  const recent = useMemo(() => fitting?.filter(s => !s.active), [fitting])
  // Active sessions show at once, and stay in the list when they end.
  for (const s of fitting ?? []) if (s.active) noteOwn(s.key)
  const held = useHeldRows(recent, keyOf, JSON.stringify([q, agent, kind, state]), false)
  const away = asked.error !== null && isAway(asked.error)
  if (held.rows === undefined || !fitting) {
    if (away)
      return (
        <div className="min-h-0 grow overflow-auto">
          <Unavailable error={asked.error} />
          <LastKnown />
        </div>
      )
    if (asked.error)
      return (
        <Failed
          again={() => void asked.refetch()}
          error={asked.error}
          what={`${texts.ui.couldNotLoad} ${words.what}.`}
        />
      )
    return <Skeleton label={`${texts.ui.loading} ${words.what}`} />
  }
  const more = asked.data?.more ?? null
  const filtered = isFiltered(search)
  return (
    <>
      {away && <UnavailableLine />}
      {asked.error ? <Stale error={asked.error} since={asked.dataUpdatedAt} /> : null}
      {more !== 0 && <Partial>{more === null ? words.manyMore : words.more(more)}</Partial>}
      <NewRows count={held.waiting} onShow={held.show} />
      {fitting.length === 0 ? (
        <Nothing filtered={filtered} go={go} />
      ) : (
        <List
          active={fitting.filter(s => s.active)}
          away={away}
          filtered={filtered}
          go={go}
          recent={held.rows}
          search={search}
        />
      )}
    </>
  )
}

function Nothing({ filtered, go }: { filtered: boolean; go: Go }) {
  if (filtered) return <NoneFit clear={words.filters.clear} onClear={() => go(cleared)} title={words.noneFit} />
  return (
    <Empty
      action={
        <Link className={buttonClass('primary')} to="/tasks">
          {words.emptyAction}
        </Link>
      }
      icon="sessions"
      title={words.emptyTitle}
    >
      {words.emptyText}
    </Empty>
  )
}

interface ListProps extends Props {
  active: Session[]
  recent: Session[]
  filtered: boolean
  away: boolean
}

function List({ active, recent, search, go, away, filtered }: ListProps) {
  const me = useMe().data
  const [askStop, question] = useStop()
  const all = useMemo(() => [...active, ...recent], [active, recent])
  const names = useListNames(all)
  const { open, onJob } = useOpenJobs(search, go)
  const mayStop = leads(me) && !away
  const days = useMemo(
    () => byDay(recent, { idOf: keyOf, atOf: s => s.updated_at, open, now: Date.now() }),
    [recent, open],
  )
  const items: Item<Session>[] = [
    { type: 'head', id: 'active', name: words.standing.active, count: active.length },
    ...active.map(row => ({ type: 'active' as const, id: row.key, row })),
    ...(active.length === 0 ? [{ type: 'none' as const, id: 'none' }] : []),
    ...days,
  ]
  return (
    <>
      <SessionHeads />
      <SessionList
        items={filtered && active.length === 0 ? days : items}
        label={words.view.live}
        onJob={onJob}
        to={s => canonical(s.key)}
        views={{
          active: s => (
            <ActiveRow names={names} of={s} onStop={mayStop ? () => askStop(s) : null} to={canonical(s.key)} />
          ),
          row: (s, inJob) => <SessionRow inJob={inJob} names={names} of={s} to={canonical(s.key)} />,
          job: item => <JobRow item={item} names={names} onToggle={() => onJob(item.id, !item.open)} />,
        }}
      />
      {me && !leads(me) && <p className="shrink-0 px-3 py-1.5 text-soft text-xs">{words.mayNot(me.role)}</p>}
      {question}
    </>
  )
}
