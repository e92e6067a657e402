import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../api/client'
import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { cost, moments } from '../app/format'
import type { Place } from '../app/places'
import { queries } from '../app/queries'
import { waitingQuery } from '../approvals/queries'
import { useWaiting } from '../approvals/useWaiting'
import { useFitting } from '../inbox/useItems'
import { useRepeating, useRepeatingSessions } from '../inbox/useRepeating'
import { isReached } from '../spend/headroom'
import { limitsQuery } from '../spend/limitQueries'
import { approvals } from '../texts/approvals'
import { now as nowWords } from '../texts/now'
import { blockedQuery, standupQuery, todayQuery } from './queries'
import { agentsFact, blockedFact, standupFact } from './statusFacts'
import { useDay } from './useDay'

interface Part {
  text: string
  to: Place['path']
  search?: Record<string, string>
  bad?: boolean
  /** Whether an agent waits for the answer. */
  asks?: true
  /** The moment the fact is about. */
  at?: string | null | undefined
  /** Whether it is left out where the card or the top bar says it too. */
  narrow?: true
  /** Whether the answer is still loading. */
  awaited: boolean
}

/** Jobs that failed or did not run. */
const failedJobs = { kind: 'job_failed,job_missed', state: 'open,acked,snoozed' }

/** The kinds of items that an agent waits for. */
const asking: ReadonlySet<string> = new Set(['approval', 'question'])

/** The data of a query, or undefined if it failed. */
const known = <T,>(asked: { data: T | undefined }): T | undefined => asked.data

/** One sentence of status facts, each with a link. */
export function StatusSummary() {
  const zone = useZone()
  const agents = useQuery({ ...queries.agents, staleTime: 0 })
  const gateway = useQuery(queries.gateway).data
  const blocked = useQuery(blockedQuery)
  const standup = useQuery(standupQuery)
  const asked = useQuery(waitingQuery({})).data
  const spent = useQuery(todayQuery(useDay())).data
  const waiting = useWaiting()
  const repeating = useRepeating()
  const last: Schemas['StandupBrief'] | null | undefined = known(standup)
  const reached = useQuery(limitsQuery).data?.limits.filter(isReached).length ?? 0
  const failing = useFitting(failedJobs).fitting?.length ?? 0
  const needs = (kind: string, n: number, count: (n: number) => string): Part[] =>
    n > 0
      ? [{ text: count(n), to: '/inbox', search: { kind }, awaited: false, [asking.has(kind) ? 'asks' : 'bad']: true }]
      : []
  const parts: Part[] = [
    {
      text: agentsFact(known(agents), gateway, a => waiting.has(a) || repeating.has(a)),
      to: '/agents',
      awaited: agents.isPending,
    },
    ...(reached > 0
      ? [
          {
            text: nowWords.limits(reached),
            to: '/spend' as const,
            search: { part: 'limits' },
            bad: true,
            awaited: false,
          },
        ]
      : []),
    ...needs('loop', useRepeatingSessions().size, nowWords.repeating),
    ...needs(failedJobs.kind, failing, nowWords.failing),
    ...needs('approval', asked?.approvals.length ?? 0, approvals.count),
    ...needs('question', asked?.questions.length ?? 0, approvals.questions),
    {
      text: blockedFact(known(blocked)),
      to: '/tasks',
      search: { blocked: 'true', view: 'table' },
      bad: (blocked.data ?? 0) > 0,
      awaited: blocked.isPending,
    },
    ...(spent && spent.total.runs > 0
      ? [
          {
            text: nowWords.spent(cost(spent.total)),
            to: '/spend',
            narrow: true,
            awaited: false,
          } as const,
        ]
      : []),
    {
      text: useTicking(now => standupFact(last, now, undefined)),
      to: '/standups',
      at: last?.completed_at ?? last?.started_at,
      bad: last?.status === 'error',
      awaited: standup.isPending,
    },
  ]
  const told = parts.filter(p => p.awaited || p.text)
  return (
    <section aria-label={nowWords.sentence}>
      <p className="text-lg sm:text-xl">
        {told.map((p, i) => (
          <span key={`${p.to} ${p.search?.kind}`} className={p.narrow ? 'max-sm:hidden xl:hidden' : ''}>
            {i > 0 && ', '}
            {p.awaited ? (
              <span aria-hidden="true" className="skeleton inline-block h-4 w-28 align-middle" />
            ) : (
              <Link
                className={`whitespace-nowrap hover:underline ${p.bad ? 'text-danger' : p.asks ? 'text-attention' : ''}`}
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
      </p>
    </section>
  )
}
