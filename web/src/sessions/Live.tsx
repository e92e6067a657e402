import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { leads, useMe } from '../app/queries'
import { texts } from '../texts'
import { sessions as sessionsWords } from '../texts/sessions'
import { Age } from '../ui/Age'
import { Button, buttonClass } from '../ui/Button'
import { AgentName } from '../ui/Face'
import { Flash } from '../ui/Flash'
import { Gauge } from '../ui/Gauge'
import type { TableColumn } from '../ui/Table'
import { useHeldRows } from '../ui/useHeldRows'
import { Empty, Failed, NewRows, NoneFit, Partial, Skeleton, Stale } from '../ui/Views'
import { costOf, kindName, modelName, NameAndLast, StandingMark, TaskLink, TokensOf, useAgentNames } from './Bits'
import { LastKnown } from './LastKnown'
import { canonical } from './liveSessions'
import { jobNamesQuery, liveQuery } from './queries'
import { Rows } from './Rows'
import { useStop } from './Stop'
import type { Go, SessionsSearch } from './search'
import { arranged, fits, type Item, nameOf, type Session, standing } from './session'
import { cleared, isFiltered } from './Toolbar'
import { isAway, Unavailable, UnavailableLine } from './Unavailable'

const words = sessionsWords
const f = words.fields
const keyOf = (s: Session) => s.key
const unknown = <span className="text-soft">unknown</span>

interface Props {
  search: SessionsSearch
  go: Go
}

/** The runtime's sessions, updated in place by events. */
export function Live({ search, go }: Props) {
  const asked = useQuery(liveQuery)
  const { q, agent, kind, state } = search
  const fitting = useMemo(
    () => asked.data?.rows.filter(s => fits(s, { q, agent, kind, state })),
    [asked.data, q, agent, kind, state],
  )
  const held = useHeldRows(fitting, keyOf, JSON.stringify([q, agent, kind, state]), false)
  const away = asked.error !== null && isAway(asked.error)
  if (held.rows === undefined) {
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
  return (
    <>
      {away && <UnavailableLine />}
      {asked.error ? <Stale error={asked.error} since={asked.dataUpdatedAt} /> : null}
      {more !== 0 && <Partial>{more === null ? words.manyMore : words.more(more)}</Partial>}
      <NewRows count={held.waiting} onShow={held.show} />
      {held.rows.length === 0 ? (
        <Nothing filtered={isFiltered(search)} go={go} />
      ) : (
        <List away={away} go={go} rows={held.rows} search={search} />
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

function List({ rows, search, go, away }: Props & { rows: Session[]; away: boolean }) {
  const me = useMe().data
  const [askStop, question] = useStop()
  const agents = useAgentNames()
  const jobs = useQuery(jobNamesQuery).data
  const open = useMemo(() => new Set((search.jobs ?? '').split(',').filter(Boolean)), [search.jobs])
  const items = useMemo(() => arranged(rows, { by: search.group, open }), [rows, search.group, open])
  const mayStop = leads(me) && !away
  const stop = useCallback(
    (s: Session) =>
      mayStop && s.active ? (
        <Button
          aria-label={words.stopNamed(nameOf(s))}
          className="h-6! pointer-coarse:h-8!"
          icon="blocked"
          look="danger"
          onClick={() => askStop(s)}
        >
          {words.stop}
        </Button>
      ) : null,
    [mayStop, askStop],
  )
  const columns = useColumns(agents, stop)
  const groupName = (item: Exclude<Item<Session>, { type: 'row' }>): string => {
    if (item.type === 'job') return jobs?.get(item.job) ?? words.jobUnknown(item.job)
    if (search.group === 'kind') return kindName(item.name || null)
    return item.name ? (agents.get(item.name) ?? item.name) : words.noAgent
  }
  const onJob = (job: string, show: boolean) => {
    const next = new Set(open)
    if (show) next.add(job)
    else next.delete(job)
    go({ jobs: [...next].join(',') || undefined }, true)
  }
  return (
    <>
      <Rows
        below={s => <Below agents={agents} of={s} stop={stop(s)} />}
        columns={columns}
        groupName={groupName}
        items={items}
        label={words.view.live}
        nameOf={nameOf}
        onJob={onJob}
        to={s => canonical(s.key)}
      />
      {me && !leads(me) && <p className="shrink-0 px-3 py-1.5 text-soft text-xs">{words.mayNot(me.role)}</p>}
      {question}
    </>
  )
}

/** The second line of a row on narrow screens. */
function Below({ of: s, stop, agents }: { of: Session; stop: React.ReactNode; agents: ReadonlyMap<string, string> }) {
  return (
    <span className="flex min-w-0 items-center gap-2 text-soft text-xs">
      <Flash of={standing(s)}>
        <StandingMark of={s} />
      </Flash>
      <AgentName id={s.agent_id} name={agents.get(s.agent_id) ?? s.agent_id} />
      <Flash className="shrink-0" of={costOf(s)}>
        {costOf(s)}
      </Flash>
      {s.updated_at && <Age at={s.updated_at} className="shrink-0" />}
      <span className="ml-auto shrink-0">{stop}</span>
    </span>
  )
}

function useColumns(
  agents: ReadonlyMap<string, string>,
  stop: (s: Session) => React.ReactNode,
): TableColumn<Session>[] {
  return [
    {
      id: 'session',
      label: f.session,
      width: 'minmax(14rem,1fr)',
      cell: s => <NameAndLast of={s} />,
    },
    {
      id: 'state',
      label: f.state,
      width: '8.5rem',
      cell: s => (
        <Flash of={standing(s)}>
          <StandingMark of={s} />
        </Flash>
      ),
    },
    {
      id: 'agent',
      label: f.agent,
      width: '7rem',
      cell: s =>
        s.agent_id ? <AgentName id={s.agent_id} name={agents.get(s.agent_id) ?? s.agent_id} /> : words.noAgent,
    },
    { id: 'kind', label: f.kind, width: '6.5rem', cell: s => <bdi className="truncate">{kindName(s.kind)}</bdi> },
    { id: 'task', label: f.task, width: '6rem', cell: s => <TaskLink of={s.key} /> },
    {
      id: 'model',
      label: f.model,
      width: '9rem',
      cell: s => (
        <bdi className="truncate text-soft" title={s.model ?? undefined}>
          {modelName(s.model)}
        </bdi>
      ),
    },
    {
      id: 'context',
      label: f.context,
      width: '8rem',
      cell: s => <Gauge label={f.context} of={s.context_limit} value={s.context_tokens} />,
    },
    {
      id: 'tokens',
      label: f.tokens,
      width: '5.5rem',
      cell: s => (
        <Flash of={s.tokens && Object.values(s.tokens).join()}>
          <TokensOf none={words.counting} of={s.tokens} />
        </Flash>
      ),
    },
    {
      id: 'cost',
      label: f.cost,
      width: '8rem',
      cell: s => (
        <Flash of={costOf(s)}>
          <span className="truncate">{costOf(s)}</span>
        </Flash>
      ),
    },
    { id: 'last', label: f.last, width: '6rem', cell: s => (s.updated_at ? <Age at={s.updated_at} /> : unknown) },
    { id: 'stop', label: f.stop, width: '6rem', cell: stop },
  ]
}
