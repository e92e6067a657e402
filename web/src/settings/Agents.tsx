import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useTicking } from '../app/clock'
import { queries } from '../app/queries'
import { useGo } from '../app/useGo'
import { connect } from '../texts/connect'
import { settings } from '../texts/settings'
import { Button, buttonClass } from '../ui/Button'
import { Face } from '../ui/Face'
import { Heads } from '../ui/Heads'
import { State } from '../ui/State'
import { sayFailed } from '../ui/toast'
import { Answer, Empty, Partial } from '../ui/Views'
import { AgentAccount, newAgent, other, useCreateAgent } from './AgentAccount'
import { ForLeads, Part } from './Bits'
import { Keys, Used } from './Keys'
import { keysQuery } from './queries'
import { type AgentRow, agentRows, keyState, type User } from './rules'

const agentKeysRoute = getRouteApi('/frame/settings/agents')

const words = settings.agents

/** Agent accounts and their keys. The open agent is in the URL. */
export function AgentsPart() {
  const search = agentKeysRoute.useSearch()
  const go = useGo<typeof search>('/settings/agents')
  return (
    <Part
      actions={
        <Button icon="plus" look="primary" onClick={() => go({ account: other })}>
          {words.add}
        </Button>
      }
      id="agents"
    >
      <ForLeads>
        <List go={go} opened={search.agent} />
        <AgentAccount onClose={() => go({ account: undefined }, true)} open={search.account === other} />
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
            <>
              <Heads grid={grid} of={words.heads} />
              <ul aria-label={settings.parts.agents.name} className="hairline divide-y divide-line rounded-md">
                {list.map(row => (
                  <Row key={row.agentId} go={go} open={opened === row.agentId} row={row} />
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </Answer>
  )
}

/** The columns on wide screens; the face has one of its own. */
const grid = 'items-center gap-x-3 px-3 sm:grid sm:grid-cols-[1.75rem_minmax(0,1fr)_13rem_13rem]'

function Row({ row, open, go }: { row: AgentRow; open: boolean; go: Go }) {
  const { agentId, account, name } = row
  const create = useCreateAgent()
  return (
    <li data-agent={agentId}>
      <div className={`${grid} flex flex-wrap gap-y-1 py-1.5`}>
        <Face agent={agentId} name={name} size="md" />
        <div className="min-w-0 grow basis-40">
          <p className="wrap-anywhere font-medium">
            <bdi>{name}</bdi> <span className="wrap-anywhere font-mono font-normal text-soft text-xs">{agentId}</span>
          </p>
          <p className="text-xs empty:hidden">
            <InRuntime known={row.inRuntime} />
          </p>
        </div>
        <span className="wrap-anywhere min-w-0 text-soft text-xs max-sm:grow max-sm:basis-40 max-sm:pl-9">
          {account === null ? (
            <State icon="off" tone="attention">
              <span className="whitespace-normal">{words.noAccount}</span>
            </State>
          ) : (
            <>
              <KeyUse account={account} />
              {!account.active && (
                <span className="block">
                  <State tone="attention">{words.inactive}</State>
                </span>
              )}
            </>
          )}
        </span>
        <span className="ml-auto flex gap-1">
          {account && <Connect account={account} agent={agentId} name={name} />}
          {account === null ? (
            <Button
              aria-label={words.createNamed(name)}
              busy={create.isPending}
              icon="plus"
              onClick={() =>
                create.mutate(newAgent(agentId, name), {
                  onSuccess: () => go({ agent: agentId }),
                  onError: err => sayFailed(err),
                })
              }
            >
              {words.create}
            </Button>
          ) : (
            <Button
              aria-expanded={open}
              aria-label={open ? `${words.hideKeys}: ${name}` : words.keysOf(name)}
              icon={open ? 'chevron' : 'right'}
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

/** When an account's keys were last used; null if never, undefined if not loaded. */
function lastUse(keys: readonly { last_used_at: string | null }[] | undefined): string | null | undefined {
  return (
    keys &&
    (keys
      .flatMap(k => k.last_used_at ?? [])
      .sort()
      .at(-1) ??
      null)
  )
}

/** When an agent last used a key, or that it never did or has none. */
function KeyUse({ account }: { account: User }) {
  const keys = useQuery(keysQuery(account.id)).data
  const valid = useTicking(now => keys?.filter(k => keyState(k, now) === 'works').length ?? null)
  if (!keys || valid === null) return null
  const used = lastUse(keys)
  if (valid === 0) return <State tone="attention">{words.noValidKey}</State>
  return used ? <Used at={used} /> : words.keyUnused
}

/** A link that shows how to connect an agent whose keys were never used. */
function Connect({ account, agent, name }: { account: User; agent: string; name: string }) {
  if (lastUse(useQuery(keysQuery(account.id)).data) !== null) return null
  return (
    <Link
      aria-label={words.connectNamed(name)}
      className={buttonClass('plain')}
      params={{ agentId: agent }}
      search={{ connect: '1' }}
      to="/agents/$agentId"
    >
      {connect.connect}
    </Link>
  )
}

/** That the gateway does not have an agent, or can't be asked. */
function InRuntime({ known }: { known: boolean | null }) {
  if (known === null) return <State tone="idle">{words.mayBeInRuntime}</State>
  return known ? null : <State tone="attention">{words.notInRuntime}</State>
}
