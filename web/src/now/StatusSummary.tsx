import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../api/client'
import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { cost, moments } from '../app/format'
import type { Place } from '../app/places'
import { queries, useMe } from '../app/queries'
import { useWaiting } from '../approvals/useWaiting'
import { kindTable } from '../inbox/kinds'
import { needsMe, useFitting } from '../inbox/useItems'
import { useRepeating } from '../inbox/useRepeating'
import { isReached } from '../spend/headroom'
import { limitsQuery } from '../spend/limitQueries'
import { now as nowWords } from '../texts/now'
import { blockedQuery, standupQuery, todayQuery } from './queries'
import { agentsFact, blockedFact, needingFacts, standupFact } from './statusFacts'
import { useDay } from './useDay'

interface Part {
  text: string
  to: Place['path']
  search?: Record<string, string>
  tone?: 'bad' | 'asks' | undefined
  /** The moment the fact is about. */
  at?: string | null | undefined
  /** Whether it is left out where the card or the top bar says it too. */
  narrow?: true
  /** Whether the answer is still loading. */
  awaited?: boolean
}

/** The data of a query, or undefined if it failed. */
const known = <T,>(asked: { data: T | undefined }): T | undefined => asked.data

/** What needs the user, and the other facts, each with a link. */
export function StatusSummary() {
  const needing = useNeeding()
  return (
    <section aria-label={nowWords.sentence}>
      <p className="text-lg sm:text-xl">
        {needing.length > 0 && (
          <>
            <Sentence first={': '} parts={needing} />{' '}
          </>
        )}
        <Sentence parts={useFacts()} />
      </p>
    </section>
  )
}

/** Returns what needs the user: the rows of the card below, by kind. Agents have no inbox. */
function useNeeding(): Part[] {
  const me = useMe().data
  const { asked, fitting } = useFitting(needsMe)
  if (me?.role === 'agent') return []
  if (!fitting) return [{ text: nowWords.needsUnknown, to: '/inbox', awaited: asked.isPending }]
  return needingFacts(fitting, asked.hasNextPage).map(({ text, kinds }) => ({
    text,
    to: '/inbox',
    ...(kinds.length > 0 ? { search: { kind: kinds.join() } } : {}),
    tone: kinds.length === 0 ? undefined : kinds.some(k => kindTable[k].failure) ? 'bad' : 'asks',
  }))
}

/** Returns the facts about agents, limits, blocked tasks, spend, and the last standup. */
function useFacts(): Part[] {
  const agents = useQuery({ ...queries.agents, staleTime: 0 })
  const gateway = useQuery(queries.gateway).data
  const blocked = useQuery(blockedQuery)
  const standup = useQuery(standupQuery)
  const spent = useQuery(todayQuery(useDay())).data
  const waiting = useWaiting()
  const repeating = useRepeating()
  const last: Schemas['StandupBrief'] | null | undefined = known(standup)
  const reached = useQuery(limitsQuery).data?.limits.filter(isReached).length ?? 0
  const lastFact = useTicking(now => standupFact(last, now, undefined))
  const parts: Part[] = [
    {
      text: agentsFact(known(agents), gateway, a => waiting.has(a) || repeating.has(a)),
      to: '/agents',
      awaited: agents.isPending,
    },
    { text: reached > 0 ? nowWords.limits(reached) : '', to: '/spend', search: { part: 'limits' }, tone: 'bad' },
    {
      text: blockedFact(known(blocked)),
      to: '/tasks',
      search: { blocked: 'true', view: 'table' },
      tone: (blocked.data ?? 0) > 0 ? 'bad' : undefined,
      awaited: blocked.isPending,
    },
    { text: spent && spent.total.runs > 0 ? nowWords.spent(cost(spent.total)) : '', to: '/spend', narrow: true },
    {
      text: lastFact,
      to: '/standups',
      at: last?.completed_at ?? last?.started_at,
      tone: last?.status === 'error' ? 'bad' : undefined,
      awaited: standup.isPending,
    },
  ]
  return parts.filter(p => p.awaited || p.text)
}

const tones = { bad: 'text-danger', asks: 'text-attention' }

/** Facts as a sentence. `first` separates the first fact from the others. */
function Sentence({ parts, first = ', ' }: { parts: readonly Part[]; first?: string }) {
  const zone = useZone()
  return (
    <>
      {parts.map((p, i) => (
        <span key={`${p.to} ${JSON.stringify(p.search)}`} className={p.narrow ? 'max-sm:hidden xl:hidden' : ''}>
          {i > 0 && (i === 1 ? first : ', ')}
          {p.awaited ? (
            <span aria-hidden="true" className="skeleton inline-block h-4 w-28 align-middle" />
          ) : (
            <Link
              className={`whitespace-nowrap hover:underline ${p.tone ? tones[p.tone] : ''}`}
              search={(p.search ?? {}) as never}
              title={p.at ? moments(p.at, zone) : undefined}
              to={p.to}
            >
              {i === 0 ? p.text.charAt(0).toUpperCase() + p.text.slice(1) : p.text}
            </Link>
          )}
        </span>
      ))}
      .
    </>
  )
}
