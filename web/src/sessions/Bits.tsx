import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../api/client'
import { useTicking } from '../app/clock'
import { age, money, tokens, unknown } from '../app/format'
import { queries } from '../app/queries'
import { sessions as sessionsWords } from '../texts/sessions'
import { Badge, type Look, State } from '../ui/State'
import { type Archived, nameOf, partsOf, type Session, type Standing, standing } from './session'

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

/** The session's name, and the start of its last message if there is room. */
export function NameAndLast({ of: s }: { of: Session | Archived }) {
  return (
    <span className="flex min-w-0 items-baseline gap-2">
      <bdi className="max-w-full shrink-0 truncate font-medium xl:max-w-64" title={s.key}>
        {nameOf(s)}
      </bdi>
      {s.last_message && (
        <bdi aria-hidden="true" className="hidden min-w-0 truncate text-soft text-xs xl:inline" title={s.last_message}>
          {s.last_message}
        </bdi>
      )}
    </span>
  )
}

export const kindName = (kind: string | null): string => (kind ? (words.kind[kind] ?? kind) : words.kindUnknown)

/** Returns the names of the agents by ID. */
export function useAgentNames(): ReadonlyMap<string, string> {
  const agents = useQuery(queries.agents).data
  return new Map(agents?.map(a => [a.agent_id, a.name]))
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
    // A live session is still running; the cost of an archived one is final.
    return 'archived_at' in s ? unknown : words.counting
  }
  return s.cost_complete === false ? words.partlyPriced(money(s.cost_usd)) : money(s.cost_usd)
}

/** A link to the session's task, if its key names one. */
export function TaskLink({ of }: { of: string }) {
  const { task } = partsOf(of)
  if (!task) return null
  return (
    <Link className="key text-accent underline" search={{ task }} to="/tasks">
      {task}
    </Link>
  )
}
