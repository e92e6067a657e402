import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { queries } from '../app/queries'
import { limits as words } from '../texts/limits'
import { Gauge } from '../ui/Gauge'
import { State } from '../ui/State'
import { isReached, quantity, tightest } from './headroom'
import { type Limit, limitsQuery } from './limitQueries'

/** Returns a function that names what a limit counts, and its amount: CTO: $5 per day. */
export function useLimitName(): (of: Limit, amount?: boolean) => string {
  const agents = useQuery(queries.agents).data
  return (l, amount = true) => {
    const agent = l.scope === 'agent' && agents?.find(a => a.agent_id === l.scope_id)?.name
    const about = agent || [words.scopes[l.scope], l.scope_id].filter(Boolean).join(' ')
    const window = l.scope === 'run' ? null : l.window
    return amount ? `${about}: ${words.per(quantity(l, l.amount), l.measure, window)}` : about
  }
}

/** How much is left of the limit, or of the agent's or the run's, that is closest to its amount; nothing if there is none. */
export function Headroom({ agent, run }: { agent?: string; run?: string }) {
  const counts = (l: Limit) =>
    run !== undefined
      ? l.scope === 'run' && l.scope_id === run
      : l.scope !== 'run' && (agent === undefined || (l.scope === 'agent' && l.scope_id === agent))
  const l = tightest(useQuery(limitsQuery).data?.limits.filter(counts) ?? [])
  const name = useLimitName()
  if (!l || l.used === null) return null
  return (
    <p className="flex flex-wrap items-center gap-x-2 text-soft" data-headroom="">
      <span>
        <span className="text-ink">{quantity(l, l.used)}</span> {words.of(quantity(l, l.allowed), l.measure, l.window)}
        {l.scope !== 'all' && agent === undefined && run === undefined && (
          <>
            {' · '}
            <bdi className="wrap-anywhere">{name(l, false)}</bdi>
          </>
        )}
      </span>
      <Gauge label={name(l)} of={Number(l.allowed)} value={Number(l.used)} />
      {isReached(l) && (
        <>
          <State tone="danger">{words.reached}</State>
          <Link className="text-accent underline" search={{ part: 'limits' }} to="/spend">
            {words.changeLimits}
          </Link>
        </>
      )}
    </p>
  )
}
