import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useKeys } from '../app/keys'
import { isNobody, queries } from '../app/queries'
import { useTitle } from '../app/title'
import { texts } from '../texts'
import { agents as agentTexts } from '../texts/agents'
import { Age } from '../ui/Age'
import { buttonClass, IconButton } from '../ui/Button'
import { GatewayLine } from '../ui/GatewayLine'
import { Answer, Empty } from '../ui/Views'
import { AgentTable } from './AgentTable'
import type { Agent } from './agent'
import { StatusCounts } from './StatusCounts'
import { Tree } from './Tree'

const agentsListRoute = getRouteApi('/frame/agents/')

const words = agentTexts

/** The agents, as a table or by team. */
export function AgentsPage() {
  const { view = 'table' } = agentsListRoute.useSearch()
  const navigate = useNavigate()
  const asked = useQuery(queries.agents)
  const show = (next: 'table' | 'tree') => void navigate({ to: '/agents', search: { view: next }, replace: true })
  useTitle(texts.app.places.agents)
  useKeys([{ keys: 'v', label: words.view.key, run: () => show(view === 'table' ? 'tree' : 'table') }])
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex min-h-10 shrink-0 items-center gap-3 border-line border-b px-3 py-1.5">
        <h2 className="sr-only">{texts.app.places.agents}</h2>
        {asked.data && <StatusCounts of={asked.data} />}
        <fieldset className="ml-auto flex rounded-md border border-line">
          <legend className="sr-only">{words.view.label}</legend>
          {(['table', 'tree'] as const).map(v => (
            <IconButton
              key={v}
              aria-pressed={view === v}
              className={view === v ? 'bg-accent-tint text-accent!' : ''}
              icon={v === 'table' ? 'table' : 'dependency'}
              label={words.view[v]}
              onClick={() => show(v)}
            />
          ))}
        </fieldset>
      </div>
      <GatewayLine>{texts.app.live.gatewayHelp}</GatewayLine>
      <LastKnown of={asked.data} />
      <Answer of={asked} what={words.what}>
        {agents => (agents.length === 0 ? <NoAgents /> : <Shown agents={agents} view={view} />)}
      </Answer>
    </div>
  )
}

function Shown({ agents, view }: { agents: readonly Agent[]; view: 'table' | 'tree' }) {
  const navigate = useNavigate()
  const open = (id: string) => void navigate({ to: '/agents/$agentId', params: { agentId: id } })
  return view === 'table' ? <AgentTable agents={agents} onOpen={open} /> : <Tree agents={agents} />
}

/** The age of the list while the gateway is not connected. */
function LastKnown({ of }: { of: readonly Agent[] | undefined }) {
  const asOf = of?.find(a => a.in_runtime === null && a.as_of !== null)?.as_of
  if (!asOf) return null
  return (
    <p className="px-3 py-1 text-soft text-xs">
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
