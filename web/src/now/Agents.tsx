import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../api/client'
import { useTickingHere } from '../app/clock'
import { cost } from '../app/format'
import { headline } from '../app/headline'
import { isNobody, queries } from '../app/queries'
import { activeRunsQuery, soFar } from '../spend/activeRuns'
import { now as nowWords } from '../texts/now'
import { Age } from '../ui/Age'
import { Face } from '../ui/Face'
import { Flash } from '../ui/Flash'
import { GatewayLine } from '../ui/GatewayLine'
import { Gauge } from '../ui/Gauge'
import { State } from '../ui/State'
import { TextLink } from '../ui/TextLink'
import { Answer, Partial } from '../ui/Views'
import { Card, Nothing } from './Card'
import { burnQuery, sessionsQuery } from './queries'
import { burn } from './spend'
import { isKnown } from './statusFacts'
import { sessionOf } from './tile'
import { clock } from './time'
import { useCurrentTasks } from './useCurrentTasks'

const words = nowWords.agents

/** A tile per agent: its current task, last words, context usage, and cost per hour. */
export function Agents({ className }: { className: string }) {
  const agents = useQuery(queries.agents)
  const sessions = useQuery(sessionsQuery)
  const burning = useQuery(burnQuery)
  const tasks = useCurrentTasks(agents.data ?? [], sessions.error ? [] : (sessions.data ?? []))
  const gateway = useQuery(queries.gateway).data
  const noSessions = sessions.error !== null && gateway?.state === 'connected'
  return (
    <Card className={className} title={words.title} to={{ path: '/agents', label: words.title }}>
      <GatewayLine>{words.away}</GatewayLine>
      {noSessions && <Partial>{words.noSessions}</Partial>}
      {tasks.failed ? <Partial>{words.noTasks}</Partial> : null}
      <Answer of={agents} rows={3} what={words.what}>
        {list =>
          list.length === 0 ? (
            <Nothing title={isNobody(list, gateway) ? words.none : words.noneKnown}>{words.noneHelp}</Nothing>
          ) : (
            <ul className="-mr-px -mb-px grid grid-cols-[repeat(auto-fill,minmax(13rem,1fr))]">
              {list.map(a => {
                // Cached sessions are outdated once the gateway is offline.
                const session = sessions.error ? undefined : sessionOf(a.agent_id, sessions.data ?? [])
                return (
                  <li key={a.agent_id} className="flex min-w-0 flex-col gap-1 border-line border-r border-b p-3">
                    <p className="flex items-center gap-2">
                      <Face agent={a.agent_id} name={a.name} />
                      <TextLink
                        className="min-w-0 truncate font-semibold hover:underline"
                        href={`/agents/${encodeURIComponent(a.agent_id)}`}
                      >
                        <bdi>{a.name}</bdi>
                      </TextLink>
                      <span className="ml-auto shrink-0">
                        <Flash of={a.presence && `${a.presence.state} ${a.presence.stalled}`}>
                          <Presence of={a} />
                        </Flash>
                      </span>
                    </p>
                    <Work known={tasks.known} of={tasks.of(a)} />
                    <LastWords of={session} />
                    <p className="flex flex-wrap justify-between gap-x-2 gap-y-0.5 whitespace-nowrap text-soft text-xs sm:flex-col">
                      <span className="inline-flex items-center gap-1.5">
                        <span>{words.context}</span>
                        <Flash of={session?.context_tokens ?? null}>
                          <Gauge
                            label={`${words.context} ${a.name}`}
                            of={session?.context_limit ?? null}
                            value={session?.context_tokens ?? null}
                          />
                        </Flash>
                      </span>
                      <span className="min-h-4">
                        <Burn agent={a} of={burning} />
                      </span>
                    </p>
                  </li>
                )
              })}
            </ul>
          )
        }
      </Answer>
    </Card>
  )
}

/** The status of an agent, with its age and reason. */
function Presence({ of }: { of: Schemas['Agent'] }) {
  const p = of.presence
  if (p === null || !isKnown(of)) {
    return (
      <State icon="off" title={p?.reason ?? words.unknownHelp} tone="idle">
        {words.unknown}
      </State>
    )
  }
  const since = p.stalled ? p.silent_since : p.since
  const tone = p.stalled ? 'attention' : p.state === 'active' ? 'active' : 'idle'
  return (
    <State title={p.reason} tone={tone} {...(p.state === 'offline' ? { icon: 'off' as const } : {})}>
      {p.stalled ? words.stalled : words[p.state]}
      {since && <Age at={since} className="text-soft" />}
    </State>
  )
}

function Work({ of, known }: { of: Schemas['TaskCard'] | undefined; known: boolean }) {
  if (!of) return <p className="min-h-5 truncate text-soft">{known ? words.noTask : ''}</p>
  return (
    <p className="flex min-h-5 min-w-0">
      <Flash className="items-center gap-1.5" of={of.key}>
        <span className="key shrink-0 text-soft">{of.key}</span>
        <Link className="min-w-0 truncate hover:underline" search={{ task: of.key }} title={of.title} to="/tasks">
          <bdi>{of.title}</bdi>
        </Link>
      </Flash>
    </p>
  )
}

/** What the agent said last in its session: during a run, its latest words; otherwise, its last result. */
function LastWords({ of }: { of: Schemas['Session'] | undefined }) {
  const line = headline(of?.last_message ?? null)
  return (
    <p className="line-clamp-2 min-h-8 text-soft text-xs" title={line ?? undefined}>
      <bdi>{line}</bdi>
    </p>
  )
}

/** The agent's cost in the last hour, and the cost of its active run so far. */
function Burn({ of, agent }: { of: UseQueryResult<Schemas['UsageReport']>; agent: Schemas['Agent'] }) {
  const { data, dataUpdatedAt } = of
  const going = useQuery(activeRunsQuery).data?.runs.filter(r => r.agent_id === agent.agent_id) ?? []
  const hour = useTickingHere(now => {
    const known = data ? burn(data, agent, dataUpdatedAt, now) : null
    return known && words.burn(cost(known))
  })
  const now = going.length > 0 ? words.burnSoFar(cost(soFar(going))) : null
  // Empty only while loading for the first time.
  if (hour === null && now === null) return data || of.error ? <span>{words.burnUnknown}</span> : null
  return (
    <span className="inline-flex flex-wrap gap-x-1.5">
      {hour !== null && (
        <Flash of={hour}>
          <span className="whitespace-nowrap" title={words.burnHelp(clock(dataUpdatedAt, undefined))}>
            {hour}
          </span>
        </Flash>
      )}
      {now !== null && (
        <Flash of={now}>
          <span className="whitespace-nowrap" title={words.burnSoFarHelp}>
            {now}
          </span>
        </Flash>
      )}
    </span>
  )
}
