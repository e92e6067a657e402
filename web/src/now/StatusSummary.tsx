import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import type { Schemas } from '../api/client'
import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { moments } from '../app/format'
import type { Place } from '../app/places'
import { queries } from '../app/queries'
import { now as nowWords } from '../texts/now'
import { blockedQuery, standupQuery } from './queries'
import { agentsFact, blockedFact, standupFact } from './statusFacts'

interface Part {
  text: string
  to: Place['path']
  search?: Record<string, string>
  bad?: boolean
  /** The moment the fact is about. */
  at?: string | null | undefined
  /** Whether the answer is still loading. */
  awaited: boolean
}

/** The data of a query, or undefined if it failed. */
const known = <T,>(asked: { data: T | undefined }): T | undefined => asked.data

/** One sentence of status facts, each with a link. */
export function StatusSummary() {
  const zone = useZone()
  const agents = useQuery({ ...queries.agents, staleTime: 0 })
  const gateway = useQuery(queries.gateway).data
  const blocked = useQuery(blockedQuery)
  const standup = useQuery(standupQuery)
  const last: Schemas['StandupBrief'] | null | undefined = known(standup)
  const parts: Part[] = [
    { text: agentsFact(known(agents), gateway), to: '/agents', awaited: agents.isPending },
    {
      text: blockedFact(known(blocked)),
      to: '/tasks',
      search: { blocked: 'true', view: 'table' },
      bad: (blocked.data ?? 0) > 0,
      awaited: blocked.isPending,
    },
    {
      text: useTicking(now => standupFact(last, now, undefined)),
      to: '/standups',
      at: last?.completed_at ?? last?.started_at,
      bad: last?.status === 'error',
      awaited: standup.isPending,
    },
  ]
  return (
    <section aria-label={nowWords.sentence}>
      <p className="text-xl">
        {parts.map((p, i) => (
          <Fragment key={p.to}>
            {i > 0 && ', '}
            {p.awaited ? (
              <span aria-hidden="true" className="skeleton inline-block h-4 w-28 align-middle" />
            ) : (
              <Link
                className={`hover:underline ${p.bad ? 'text-danger' : ''}`}
                search={(p.search ?? {}) as never}
                title={p.at ? moments(p.at, zone) : undefined}
                to={p.to}
              >
                {i === 0 ? p.text.charAt(0).toUpperCase() + p.text.slice(1) : p.text}
              </Link>
            )}
          </Fragment>
        ))}
        .
      </p>
    </section>
  )
}
