import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import * as clock from '../app/clock'
import { leads, useMe } from '../app/queries'
import { newAgent, useCreateAgent } from '../settings/AgentAccount'
import { Ago, CodeBlock, Note, Refusal } from '../settings/Bits'
import { useMakeKey } from '../settings/Keys'
import { expiresAt } from '../settings/rules'
import { Secret } from '../settings/Secret'
import { connect as words } from '../texts/connect'
import { Button, buttonClass } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { type Look, State } from '../ui/State'
import { TextLink } from '../ui/TextLink'
import { Answer } from '../ui/Views'
import type { Agent } from './agent'
import { connectionQuery } from './queries'

type Of = Pick<Agent, 'agent_id' | 'name' | 'tools_used_at'>
type Check = Schemas['McpCheck']

/** Whether the agent has used its tools, with a link to connect it for the owner and admins. */
export function ToolsState({ of: a }: { of: Of }) {
  const may = leads(useMe().data)
  return (
    <>
      {a.tools_used_at ? (
        <>
          {words.connected} <Ago at={a.tools_used_at} />
        </>
      ) : (
        words.not
      )}{' '}
      {may && <ConnectLink of={a}>{a.tools_used_at ? words.settings : words.connect}</ConnectLink>}
    </>
  )
}

function ConnectLink({ of: a, children, className }: { of: Of; children: ReactNode; className?: string }) {
  return (
    <Link
      className={className ?? 'text-accent hover:underline'}
      params={{ agentId: a.agent_id }}
      search={{ connect: '1' }}
      to="/agents/$agentId"
    >
      {children}
    </Link>
  )
}

/** A button that opens the dialog, for an agent that is not connected. A phone has only the link of ToolsState. */
export function ConnectButton({ of: a }: { of: Of }) {
  if (!leads(useMe().data) || a.tools_used_at) return null
  return (
    <ConnectLink className={buttonClass('plain', 'max-sm:hidden')} of={a}>
      {words.connect}
    </ConnectLink>
  )
}

/** The dialog that connects an agent to the tools and tests the connection. */
export function Connect({ of: a, open, onClose }: { of: Of; open: boolean; onClose: () => void }) {
  const may = leads(useMe().data)
  return (
    <Dialog onClose={onClose} open={open && may} title={words.title(a.name)} wide>
      <Steps of={a} />
    </Dialog>
  )
}

function Steps({ of: a }: { of: Of }) {
  const asked = useQuery(connectionQuery(a.agent_id))
  const works = a.tools_used_at !== null
  return (
    <Answer of={asked} rows={6} what={words.what}>
      {is => (
        <div className="flex flex-col gap-3">
          <Standing is={is} of={a} />
          <ol className="flex list-decimal flex-col gap-4 pl-5 [&>li>h3]:font-medium [&>li]:flex-col [&>li]:gap-2">
            <Step done={is.usable_key} title={words.steps.key}>
              <Key is={is} of={a} />
            </Step>
            <Step done={works} title={words.steps.config}>
              <p className="text-soft">{words.configHelp}</p>
              <CodeBlock label={words.configName} text={is.config} />
            </Step>
            <Step done={works} title={words.steps.restart}>
              <p className="text-soft">{words.restartHelp}</p>
            </Step>
            <Step done={works} title={words.steps.test}>
              <Test of={a} />
            </Step>
          </ol>
        </div>
      )}
    </Answer>
  )
}

/** What the agent gets, and how far it is. */
function Standing({ is, of: a }: { is: Schemas['McpConnection']; of: Of }) {
  return (
    <div className="flex flex-col gap-1">
      <p className="text-soft">{words.intro(a.name)}</p>
      <p className="font-medium">
        {a.tools_used_at ? (
          <State icon="check" tone="active">
            {words.connected} <Ago at={a.tools_used_at} />
          </State>
        ) : (
          <State icon="off" tone="idle">
            {is.usable_key ? words.keyUnused : words.not}
          </State>
        )}
      </p>
    </div>
  )
}

const Step = ({ title, done, children }: { title: string; done: boolean; children: ReactNode }) => (
  <li>
    <section aria-label={title} className="flex flex-col gap-2">
      <h3 className="flex items-baseline gap-2 font-medium">
        {title}
        {done && <State tone="done">{words.stepDone}</State>}
      </h3>
      {children}
    </section>
  </li>
)

/** Creates the agent's account or key. The key is only in this component's state, until it is saved. */
function Key({ is, of: a }: { is: Schemas['McpConnection']; of: Of }) {
  const cache = useQueryClient()
  const reread = () => void cache.invalidateQueries({ queryKey: ['agents'] })
  const [secret, setSecret] = useState<string | null>(null)
  const account = useCreateAgent()
  const make = useMakeKey(setSecret)
  if (secret !== null) {
    return (
      <>
        <Secret
          done={words.done}
          lines={[[words.keyTitle, `${is.variable}=${secret}`]]}
          onDone={() => setSecret(null)}
          title={words.keyTitle}
          warning={words.keyOnce}
        />
        <p className="text-soft">{words.keyWhere}</p>
      </>
    )
  }
  const user = is.user_id
  if (user === null) {
    return (
      <>
        <p className="text-soft">{words.noAccount(a.name)}</p>
        <Button
          busy={account.isPending}
          className="self-start"
          icon="plus"
          onClick={() => account.mutate(newAgent(a.agent_id, a.name), { onSuccess: reread })}
        >
          {words.createAccount}
        </Button>
        <Refusal error={account.error} />
      </>
    )
  }
  const expires = () => expiresAt(365, clock.now())
  return (
    <>
      <p className="text-soft">
        {words.keyGoes(is.variable)} {!is.usable_key && words.noKey}
      </p>
      <Button
        busy={make.isPending}
        className={is.usable_key ? '-ml-2.5 self-start' : 'self-start'}
        icon="plus"
        look={is.usable_key ? 'quiet' : 'primary'}
        onClick={() =>
          make.mutate({ user, body: { name: 'tools', expires_at: expires() ?? null } }, { onSuccess: reread })
        }
      >
        {is.usable_key ? words.replaceKey : words.createKey}
      </Button>
      <Refusal error={make.error} />
    </>
  )
}

/** Starts a turn of the agent and shows which step fails. */
function Test({ of: a }: { of: Of }) {
  const cache = useQueryClient()
  const check = useMutation({
    mutationFn: () =>
      take(api.POST('/api/v1/agents/{agent_id}/tools/check', { params: { path: { agent_id: a.agent_id } } })),
    onSettled: () => cache.invalidateQueries({ queryKey: ['agents'] }),
  })
  return (
    <>
      <p className="text-soft">{words.testHelp(a.name)}</p>
      <Button busy={check.isPending} className="self-start" icon="reload" onClick={() => check.mutate()}>
        {words.test}
      </Button>
      <div aria-live="polite" className="flex flex-col gap-2">
        {check.isPending ? (
          <p className="text-soft">{words.testing}</p>
        ) : (
          check.data && <Result of={check.data} who={a.name} />
        )}
      </div>
      <Refusal error={check.error} />
    </>
  )
}

const looks: Record<Check['steps'][number]['state'], Look> = {
  ok: { tone: 'active', icon: 'check' },
  failed: { tone: 'danger', icon: 'error' },
  not_reached: { tone: 'idle', icon: 'off' },
  skipped: { tone: 'idle', icon: 'off' },
}

function Result({ of: c, who }: { of: Check; who: string }) {
  return (
    <div className="flex flex-col gap-1" data-connected={c.connected}>
      <p className="flex flex-wrap gap-x-3">
        <State icon={c.connected ? 'check' : 'error'} tone={c.connected ? 'active' : 'danger'}>
          {c.connected ? words.works(who) : words.fails}
        </State>
        {c.session_key && (
          <TextLink href={`/sessions/${encodeURIComponent(c.session_key)}`}>{words.openSession}</TextLink>
        )}
      </p>
      <ul aria-label={words.results} className="flex flex-col gap-1">
        {c.steps.map(s => (
          <li data-state={s.state} data-step={s.step} key={s.step}>
            <State icon={looks[s.state].icon} tone={looks[s.state].tone}>
              {words.checks[s.step]}
            </State>
            {s.saw && <bdi className="wrap-anywhere block text-soft text-xs">{s.saw}</bdi>}
            {s.fix && <Note tone="danger">{s.fix}</Note>}
          </li>
        ))}
      </ul>
    </div>
  )
}
