import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { isNobody, queries } from '../app/queries'
import { useTitle } from '../app/title'
import { useAsked } from '../approvals/useWaiting'
import { useRepeating } from '../inbox/useRepeating'
import { texts } from '../texts'
import { agents as words } from '../texts/agents'
import { Age } from '../ui/Age'
import { buttonClass } from '../ui/Button'
import { inputClass } from '../ui/Field'
import { GatewayLine } from '../ui/GatewayLine'
import { useDebouncedInput } from '../ui/useDebouncedInput'
import { useLinkKeys } from '../ui/useLinkKeys'
import { Answer, Empty, NoneFit } from '../ui/Views'
import { type Agent, groupsOf, named } from './agent'
import { AgentCard } from './Card'
import { summariesQuery, teamsQuery } from './queries'
import { StatusCounts } from './StatusCounts'

const agentsListRoute = getRouteApi('/frame/agents/')

/** From this number on, the agents can be filtered. */
const many = 12

/** The agents, a card each. */
export function AgentsPage() {
  const { q } = agentsListRoute.useSearch()
  const navigate = useNavigate()
  const filter = (next: string | undefined) => void navigate({ to: '/agents', search: { q: next }, replace: true })
  const asked = useQuery(summariesQuery)
  useTitle(texts.app.places.agents)
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex min-h-10 shrink-0 flex-wrap items-center gap-3 border-line border-b px-3 py-1.5">
        <h2 className="sr-only">{texts.app.places.agents}</h2>
        {asked.data && <StatusCounts of={asked.data} />}
        {asked.data && (asked.data.length >= many || q) && <Filter onChange={filter} value={q ?? ''} />}
      </div>
      <GatewayLine>{texts.app.live.gatewayHelp}</GatewayLine>
      <LastKnown of={asked.data} />
      <Answer of={asked} what={words.what}>
        {agents => {
          if (agents.length === 0) return <NoAgents />
          const found = named(agents, q ?? '')
          if (found.length > 0) return <Cards agents={found} />
          return <NoneFit clear={words.clear} onClear={() => filter(undefined)} title={words.noneNamed} />
        }}
      </Answer>
    </div>
  )
}

function Filter({ value, onChange }: { value: string; onChange: (q: string | undefined) => void }) {
  const [typed, type] = useDebouncedInput(value, onChange)
  return (
    <input
      aria-label={words.filter}
      className={`${inputClass} ml-auto h-8 w-48! pointer-coarse:h-10`}
      onChange={e => type(e.target.value)}
      placeholder={words.filter}
      type="search"
      value={typed}
    />
  )
}

/** The cards, those of agents that need a person first, under the names of their teams if there are several. */
function Cards({ agents }: { agents: readonly Agent[] }) {
  const box = useRef<HTMLDivElement>(null)
  useLinkKeys(box, 'h3 a')
  const teams = useQuery(teamsQuery).data ?? []
  const groups = teams.length > 1 ? groupsOf(agents, teams) : [{ id: '', name: null, agents }]
  const few = agents.length <= 4
  const waiting = useAsked()
  const repeating = useRepeating()
  const rank = ({ agent_id: id }: Agent) => (repeating.has(id) ? 0 : waiting.has(id) ? 1 : 2)
  const columns = few ? 'lg:grid-cols-2' : 'grid-cols-[repeat(auto-fill,minmax(min(100%,24rem),1fr))]'
  return (
    <div ref={box} className="flex min-h-0 grow flex-col gap-6 overflow-y-auto p-3">
      {groups.map(g => (
        <section key={g.id} aria-label={g.name ?? words.noTeam} className="w-full max-w-wide">
          {groups.length > 1 && (
            <p className="mb-2 text-soft text-xs">
              <bdi>{g.name ?? words.noTeam}</bdi>
            </p>
          )}
          <ul className={`grid gap-4 ${columns}`}>
            {[...g.agents]
              .sort((a, b) => rank(a) - rank(b))
              .map(a => (
                <AgentCard key={a.agent_id} agent={a} facilitates={teams.some(t => t.facilitator === a.agent_id)} />
              ))}
          </ul>
        </section>
      ))}
    </div>
  )
}

/** The age of the list while the gateway is not connected. */
function LastKnown({ of }: { of: readonly Agent[] | undefined }) {
  const asOf = of?.find(a => a.in_runtime === null && a.as_of !== null)?.as_of
  if (!asOf) return null
  return (
    <p className="px-4 py-1 text-soft text-xs">
      {words.lastKnown} <Age at={asOf} /> {words.page.ago}.
    </p>
  )
}

/** The empty state: no agents, or unknown because no gateway is connected. */
function NoAgents() {
  const gateway = useQuery(queries.gateway).data
  const known = isNobody([], gateway)
  return (
    <Empty
      action={
        <Link className={buttonClass('primary')} to={known ? '/settings' : '/settings/gateway'}>
          {known ? words.toSettings : words.toGateway}
        </Link>
      }
      icon="agents"
      title={known ? words.emptyTitle : words.unknownTitle}
    >
      {known ? words.emptyText : words.unknownText}
    </Empty>
  )
}
