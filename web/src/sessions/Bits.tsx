import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Schemas } from '../api/client'
import { useTicking } from '../app/clock'
import { age, money, tokens, unknown } from '../app/format'
import { queries } from '../app/queries'
import { sessions as sessionsWords } from '../texts/sessions'
import { Icon, type IconName } from '../ui/Icon'
import { Badge, type Look, State } from '../ui/State'
import { canonical } from './liveSessions'
import { type Archived, agentOf, nameOf, partsOf, type Session, type Standing, standing } from './session'

const words = sessionsWords

const looks: Record<Standing, Look> = {
  active: { tone: 'active', icon: 'pulse' },
  stalled: { tone: 'attention', icon: 'warning' },
  failed: { tone: 'danger', icon: 'error' },
  timeout: { tone: 'danger', icon: 'clock' },
  killed: { tone: 'attention', icon: 'off' },
  rests: { tone: 'idle', icon: 'sleep' },
}

/** What a session is doing, or how its last run ended. */
export function StandingMark({ of }: { of: Pick<Session, 'active' | 'status'> & Partial<Session> }) {
  const is = standing(of)
  const look = looks[is]
  if (is === 'stalled' && of.silent_since) return <Stalled since={of.silent_since} />
  return (
    <State icon={look.icon} tone={look.tone} {...(of.status ? { title: of.status } : {})}>
      {words.standing[is]}
    </State>
  )
}

function Stalled({ since }: { since: string }) {
  const silent = useTicking(now => age(since, now))
  return (
    <Badge title={`${words.standing.stalled}, ${words.stalledFor} ${silent}`} tone="attention">
      {words.standing.stalled} {silent}
    </Badge>
  )
}

/** The status of an archived session; "deleted" or "reset" if the runtime no longer has it. */
export function EndMark({ of: a }: { of: Archived }) {
  const gone = a.ended === 'deleted' || a.ended === 'reset'
  if (standing(a) !== 'rests' || !gone) return <StandingMark of={a} />
  return <State tone="idle">{words.archive.ended[a.ended ?? ''] ?? a.ended}</State>
}

export const kindName = (kind: string | null): string => (kind ? (words.kind[kind] ?? kind) : words.kindUnknown)

/** Returns the names of the agents by ID. */
export function useAgentNames(): ReadonlyMap<string, string> {
  const agents = useQuery(queries.agents).data
  return useMemo(() => new Map(agents?.map(a => [a.agent_id, a.name])), [agents])
}

export const modelName = (model: string | null): string =>
  model === null ? unknown : (model.split('/').at(-1) ?? model)

export function TokensOf({ of, none }: { of: Schemas['SessionTokens'] | null; none: string }) {
  if (of === null) return <span className="text-soft">{none}</span>
  return <span title={words.tokensOf(of)}>{tokens(of.input + of.output + of.cache_read + of.cache_write)}</span>
}

/** Returns the cost of a session, or a word if there is no amount. */
export function costOf(s: Session | Archived): string {
  if (s.cost_usd === null) {
    if (s.cost_complete === false) return words.unpriced
    // The cost of a live session is counted after each step; that of an archived one is final.
    return 'archived_at' in s ? unknown : words.counting
  }
  return s.cost_complete === false ? words.partlyPriced(money(s.cost_usd)) : money(s.cost_usd)
}

/** A link to the session's task, if its key names one. */
export function TaskLink({ of }: { of: string }) {
  const { task } = partsOf(of)
  if (!task) return null
  return (
    <Link className="key text-accent hover:underline" search={{ task }} to="/tasks">
      {task}
    </Link>
  )
}

const icons: Record<string, IconName> = {
  task: 'tasks',
  standup: 'standups',
  cron: 'schedules',
  dashboard: 'user',
  main: 'comment',
  subagent: 'dependency',
  heartbeat: 'pulse',
}

interface Started {
  of: Pick<Session, 'key' | 'kind' | 'parent_key'>
  /** Returns the key or archive ID under which a session can be opened, and its name; undefined if nothing has it. */
  find: (key: string) => { to: string; name: string } | undefined
}

/** What started a session: a task, a schedule, a standup, a person's message, or another session. */
export function StartedBy({ of: s, find }: Started) {
  const { task, standup, job } = partsOf(s.key)
  const kind = s.parent_key ? 'subagent' : (s.kind ?? '')
  return (
    <span className="inline-flex min-w-0 max-w-full items-center gap-1 text-soft [&_a]:leading-[24px]">
      <Icon className="size-3.5" name={icons[kind] ?? 'sessions'} />
      <span className="sr-only">{words.startedBy.label} </span>
      {s.parent_key ? (
        <Parent find={find} of={s.parent_key} />
      ) : task ? (
        <TaskLink of={s.key} />
      ) : standup ? (
        <Link className="truncate text-accent hover:underline" search={{ day: standup }} to="/standups">
          {words.startedBy.kinds.standup}
        </Link>
      ) : job ? (
        <Link className="truncate text-accent hover:underline" search={{ job }} to="/schedules">
          {words.startedBy.kinds.cron}
        </Link>
      ) : (
        <bdi className="truncate">{words.startedBy.kinds[kind] ?? kindName(s.kind)}</bdi>
      )}
    </span>
  )
}

function Parent({ of: key, find }: { of: string; find: Started['find'] }) {
  const found = find(canonical(key))
  if (!found)
    return (
      <bdi className="truncate" title={words.startedBy.gone}>
        {nameOf({ key, label: null, agent_id: agentOf(key) })}
      </bdi>
    )
  return (
    <Link className="truncate text-accent hover:underline" params={{ key: found.to }} to="/sessions/$key">
      <bdi>{found.name}</bdi>
    </Link>
  )
}
