import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useCallback, useMemo } from 'react'
import { grouped, money, tokens, unknown } from '../app/format'
import { queries, usePeople } from '../app/queries'
import { jobNamesQuery } from '../sessions/queries'
import { spend } from '../texts/spend'
import { type Look, Swatch } from '../ui/chart/looks'
import { AgentName, Face } from '../ui/Face'
import { keyOf, type PartId } from './split'
import { type Amounts, costOf, type Report, tokensOf } from './sums'

const words = spend

/**
 * A rounded amount. The exact one is in the tooltip and the value attribute. `shown` is rounded already, so that it adds
 * up with its neighbors.
 */
export function Money({ usd, shown }: { usd: string | null; shown?: string | undefined }) {
  if (usd === null) return <span className="text-attention">{words.unpriced}</span>
  return (
    <data title={`${words.known.exact}: $${usd}`} value={usd}>
      {money(shown === undefined || shown === '0' ? usd : shown)}
    </data>
  )
}

/** The cost of runs, and the number of unpriced ones. */
export function Cost({ of, shown }: { of: Amounts; shown?: string | undefined }) {
  const cost = costOf(of)
  return (
    <span className="whitespace-nowrap">
      <Money shown={shown} usd={cost} />
      {of.unpriced > 0 && cost !== null && (
        <span className="text-attention text-xs"> {words.withUnpriced(of.unpriced)}</span>
      )}
    </span>
  )
}

/** Like `Cost`, as a string. */
export function costText(of: Amounts): string {
  const cost = costOf(of)
  if (cost === null) return words.unpriced
  return of.unpriced > 0 ? `${money(cost)} ${words.withUnpriced(of.unpriced)}` : money(cost)
}

export const Count = ({ of }: { of: number }) => (
  <data title={grouped(of)} value={of}>
    {tokens(of)}
  </data>
)

export const tokenText = (of: Amounts): string => tokens(tokensOf(of.tokens))

/** Returns a function that names a group: by the report, the agent, the job, or the source, else by its key. */
export function useNames(report: Report): (id: PartId) => string {
  const { group, groups } = report
  const agents = useQuery({ ...queries.agents, enabled: group === 'agent' }).data
  const seen = useQuery({ ...queries.gateway, enabled: group === 'job' }).data?.state === 'connected'
  const jobs = useQuery({ ...jobNamesQuery, enabled: group === 'job' && seen }).data
  const names = useMemo(() => {
    if (group === 'agent') return new Map(agents?.map(a => [a.agent_id, a.name]))
    if (group === 'job') return jobs
    return new Map(groups.flatMap(g => (g.key !== null && g.name !== null ? [[g.key, g.name] as const] : [])))
  }, [group, groups, agents, jobs])
  return useCallback(
    id => {
      if (id === 'rest') return words.others
      if (id === 'active') return words.active
      const key = keyOf(id)
      if (key === null) return words.none[group] ?? unknown
      return names?.get(key) ?? (group === 'source' ? words.source[key] : undefined) ?? key
    },
    [group, names],
  )
}

/** A name of one line, or of two on a phone. */
export const nameClass = 'min-w-0 truncate max-sm:line-clamp-2 max-sm:whitespace-normal'

interface GroupProps {
  id: PartId
  group: string
  name: string
  look: Look
  /** The user ID of a task's assignee. */
  assignee: string | null
}

/** The name of a group, with its face or its color in the chart. Links to what it is. */
export function GroupName({ id, group, name, look, assignee }: GroupProps) {
  const key = keyOf(id)
  const who = usePeople().get(assignee ?? '')
  const link = `${nameClass} text-accent hover:underline`
  if (group === 'agent' && key !== null) {
    return (
      <Link className={link} params={{ agentId: key }} to="/agents/$agentId">
        <AgentName id={key} name={name} />
      </Link>
    )
  }
  return (
    <span className="flex min-w-0 items-center gap-1.5 max-sm:w-36 xl:max-w-70" title={name}>
      <Swatch look={look} />
      {who && (
        <span title={who.name}>
          <Face agent={who.agent} name={who.name} />
          <span className="sr-only">{who.name}</span>
        </span>
      )}
      {key !== null && group === 'task' ? (
        <Link className={link} search={{ task: key }} to="/tasks">
          <bdi className="key">{key}</bdi> {name !== key && <bdi>{name}</bdi>}
        </Link>
      ) : key !== null && group === 'project' ? (
        <Link className={link} search={{ project: key }} to="/tasks">
          <bdi>{name}</bdi>
        </Link>
      ) : key !== null && group === 'job' ? (
        <Link className={link} search={{ job: key }} to="/schedules">
          <bdi>{name}</bdi>
        </Link>
      ) : (
        <bdi className={`${nameClass} ${key === null ? 'text-soft' : ''}`}>{name}</bdi>
      )}
    </span>
  )
}

/** A section with a title and actions. */
export function Section({
  title,
  actions,
  className = '',
  children,
}: {
  title: string
  actions?: ReactNode
  className?: string
  children: ReactNode
}) {
  return (
    <section aria-label={title} className={`flex min-w-0 flex-col gap-2 ${className}`}>
      <div className="flex min-h-8 flex-wrap items-center gap-2">
        <h2 className="grow font-semibold text-base">{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  )
}
