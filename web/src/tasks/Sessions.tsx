import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query'
import { type Person, queries } from '../app/queries'
import { costOf, EndMark, StandingMark } from '../sessions/Bits'
import { canonical } from '../sessions/liveSessions'
import { liveQuery, versionsQuery } from '../sessions/queries'
import { type Archived, nameOf, type Session } from '../sessions/session'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { LoadMore } from '../ui/LoadMore'
import { sessionHref, TextLink } from '../ui/TextLink'
import { Partial, Skeleton } from '../ui/Views'
import { agentName } from './dispatch'
import { historyQuery } from './queries'
import type { Task } from './task'
import { keysOf, liveOf } from './taskSessions'

const words = texts.tasks

/** The live and archived sessions of a task. */
export function Sessions({ task, people }: { task: Task; people: ReadonlyMap<string, Person> }) {
  const gateway = useQuery(queries.gateway).data
  const connected = gateway?.state === 'connected'
  const live = useQuery({ ...liveQuery, enabled: connected })
  const history = useInfiniteQuery(historyQuery(task.id))
  const events = history.data?.pages.flatMap(p => p.rows) ?? []
  const running = connected ? liveOf(task, live.data?.rows ?? [], events) : []
  const agent = (task.assignee_id && people.get(task.assignee_id)?.agent) || null
  const keys = keysOf(task, agent, running, events)
  const versions = useQueries({ queries: keys.map(key => versionsQuery(key)) })
  const archived = versions
    .flatMap(v => v.data ?? [])
    // Live sessions have more current data than their archived copies.
    .filter(a => !running.some(s => canonical(s.key) === canonical(a.key) && a.present))
  const reading = (connected && live.isPending) || history.isPending || versions.some(v => v.isPending)
  if (reading && running.length + archived.length === 0)
    return <Skeleton label={`${texts.ui.loading} ${words.sessions.toLowerCase()}`} rows={2} />
  const failed = versions.some(v => v.error) || Boolean(live.error)
  return (
    <div className="flex flex-col gap-2">
      {!connected && gateway && <p className="text-soft text-xs">{words.sessionsAway}</p>}
      {failed && <Partial>{words.sessionsPartly}</Partial>}
      {running.length + archived.length === 0 ? (
        <p className="text-soft">{words.noSessions}</p>
      ) : (
        <ul className="flex flex-col">
          {running.map(s => (
            <Row key={s.key} at={s.updated_at} href={sessionHref(s.key)} of={s} people={people} />
          ))}
          {archived.map(a => (
            <Row key={a.id} at={a.last_at} href={sessionHref(a.id)} of={a} people={people} />
          ))}
        </ul>
      )}
      <LoadMore of={history} />
    </div>
  )
}

function Row({
  of: s,
  href,
  at,
  people,
}: {
  of: Session | Archived
  href: string
  at: string | null
  people: ReadonlyMap<string, Person>
}) {
  return (
    <li className="flex min-h-9 flex-wrap items-center gap-x-2 border-line border-b py-1 last:border-b-0">
      <TextLink className="wrap-anywhere text-accent underline" href={href}>
        <bdi>{nameOf(s)}</bdi>
      </TextLink>
      <bdi className="text-soft text-xs">{agentName(s.agent_id, people)}</bdi>
      <span className="ml-auto flex items-center gap-2 text-soft text-xs">
        {'archived_at' in s ? <EndMark of={s} /> : <StandingMark of={s} />}
        <span>{costOf(s)}</span>
        {at && <Age at={at} />}
      </span>
    </li>
  )
}
