import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { queries } from '../app/queries'
import { useGo } from '../app/useGo'
import { settings } from '../texts/settings'
import { Button, buttonClass } from '../ui/Button'
import { Face } from '../ui/Face'
import { State } from '../ui/State'
import { Answer, Empty, Partial } from '../ui/Views'
import { AgentAccount, other } from './AgentAccount'
import { ForLeads, Part } from './Bits'
import { Keys } from './Keys'
import { type AgentRow, agentRows } from './rules'

const agentKeysRoute = getRouteApi('/frame/settings/agents')

const words = settings.agents

/** Agent accounts and their keys. The open agent is in the URL. */
export function AgentsPart() {
  const search = agentKeysRoute.useSearch()
  const go = useGo<typeof search>('/settings/agents')
  return (
    <Part actions={<Button onClick={() => go({ account: other })}>{words.createOther}</Button>} id="agents">
      <ForLeads>
        <p className="mb-3 text-soft">{words.intro}</p>
        <List go={go} opened={search.agent} />
        <AgentAccount agent={search.account} onClose={() => go({ account: undefined }, true)} />
      </ForLeads>
    </Part>
  )
}

type Go = (change: { agent?: string | undefined; account?: string | undefined }) => void

function List({ opened, go }: { opened: string | undefined; go: Go }) {
  const agents = useQuery(queries.agents)
  const users = useQuery(queries.users)
  const gateway = useQuery(queries.gateway).data
  const rows = useMemo(
    () => (agents.data && users.data ? agentRows(agents.data, users.data) : undefined),
    [agents.data, users.data],
  )
  const both = {
    data: rows,
    error: agents.error ?? users.error,
    isPending: rows === undefined,
    dataUpdatedAt: Math.min(agents.dataUpdatedAt, users.dataUpdatedAt),
    refetch: () => void Promise.all([agents.refetch(), users.refetch()]),
  }
  return (
    <Answer of={both} what={words.what}>
      {list => (
        <>
          {gateway && gateway.connected_at === null && <Partial>{words.away}</Partial>}
          {list.length === 0 ? (
            <Empty
              action={
                <Link className={buttonClass('primary')} to="/settings/gateway">
                  {words.toGateway}
                </Link>
              }
              icon="agents"
              title={words.none}
            >
              {words.noneText}
            </Empty>
          ) : (
            <ul aria-label={settings.parts.agents.name} className="hairline divide-y divide-line rounded-md">
              {list.map(row => (
                <Row key={row.agentId} go={go} open={opened === row.agentId} row={row} />
              ))}
            </ul>
          )}
        </>
      )}
    </Answer>
  )
}

function Row({ row, open, go }: { row: AgentRow; open: boolean; go: Go }) {
  const { agentId, account, name } = row
  return (
    <li data-agent={agentId}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5">
        <Face agent={agentId} name={name} size="md" />
        <div className="min-w-0 grow basis-40">
          <p className="wrap-anywhere font-medium">
            <bdi>{name}</bdi> <span className="wrap-anywhere font-mono font-normal text-soft text-xs">{agentId}</span>
          </p>
          <p className="text-xs">
            <InRuntime known={row.inRuntime} />
          </p>
        </div>
        <span className="wrap-anywhere min-w-0 basis-56 text-soft text-xs">
          {account === null ? (
            <State icon="off" tone="attention">
              <span className="whitespace-normal">{words.noAccount}</span>
            </State>
          ) : (
            <>
              <bdi>{account.email}</bdi>
              {!account.active && (
                <span className="block">
                  <State tone="attention">{words.inactive}</State>
                </span>
              )}
            </>
          )}
        </span>
        <span className="ml-auto">
          {account === null ? (
            <Button aria-label={words.createNamed(name)} icon="plus" onClick={() => go({ account: agentId })}>
              {words.create}
            </Button>
          ) : (
            <Button
              aria-expanded={open}
              aria-label={open ? `${words.hideKeys}: ${name}` : words.keysOf(name)}
              icon="chevron"
              onClick={() => go({ agent: open ? undefined : agentId })}
            >
              {words.keys}
            </Button>
          )}
        </span>
      </div>
      {open && account && <Keys account={account} />}
    </li>
  )
}

function InRuntime({ known }: { known: boolean | null }) {
  if (known === null) return <State tone="idle">{words.mayBeInRuntime}</State>
  return known ? <State tone="active">{words.inRuntime}</State> : <State tone="attention">{words.notInRuntime}</State>
}
