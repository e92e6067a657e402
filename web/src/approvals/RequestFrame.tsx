import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Schemas } from '../api/client'
import { useTicking } from '../app/clock'
import { span } from '../app/format'
import { leads, queries, useMe } from '../app/queries'
import { canonical } from '../sessions/liveSessions'
import { liveQuery } from '../sessions/queries'
import { agentWords } from '../sessions/session'
import { useSessionNames } from '../sessions/useSessionNames'
import { approvals as words } from '../texts/approvals'
import { buttonClass } from '../ui/Button'
import { AgentName } from '../ui/Face'
import { sessionHref, TextLink } from '../ui/TextLink'

type Request = Pick<Schemas['ApprovalQuestion'], 'agent_id' | 'session_key' | 'task' | 'state' | 'by' | 'expires_at'> &
  Partial<Pick<Schemas['ApprovalQuestion'], 'source'>>

/** The time left, as m:ss in the last hour. */
function Countdown({ until, over }: { until: string; over: string }) {
  const left = useTicking(now => Math.max(0, Math.ceil((Date.parse(until) - now) / 1000)))
  const text = left < 3600 ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}` : span(left * 1000)
  return <span className="text-attention tabular-nums">{left > 0 ? words.left(text) : over}</span>
}

/** The session in which an agent asks, and what it said before, if it still waits. */
function Session({ of: key, waits }: { of: string; waits: boolean }) {
  const { name } = useSessionNames([key])(key)
  const last = useQuery({ ...liveQuery, enabled: waits }).data?.rows.find(s => canonical(s.key) === canonical(key))
  return (
    <p className="wrap-anywhere">
      <span className="text-soft">{words.inSession} </span>
      <TextLink className="text-accent leading-[24px] hover:underline" href={sessionHref(key)}>
        <bdi>{name}</bdi>
      </TextLink>
      {waits && last && agentWords(last) && (
        <bdi className="block text-soft" title={words.saidBefore}>
          {agentWords(last)}
        </bdi>
      )}
    </p>
  )
}

/** How a request ended. */
function endedText(of: Request, kind: Kind, agent: string): string | undefined {
  if (of.state !== 'expired') return words.ended[of.state]?.(of.by?.name || words.somebody, agent)
  return of.source === 'wardroom' ? words.unanswered(agent) : words.kinds[kind].expired(agent)
}

type Kind = keyof typeof words.kinds

interface Props {
  of: Request
  /** What the agent asks for. */
  kind: Kind
  children: ReactNode
  buttons: ReactNode
}

/** A request of an agent: who asks, how long it waits, its content, and the buttons that answer it. */
export function RequestFrame({ of, kind, children, buttons }: Props) {
  const lead = leads(useMe().data)
  const agent = useQuery(queries.agents).data?.find(a => a.agent_id === of.agent_id)?.name ?? of.agent_id
  return (
    <section
      aria-label={words.waiting}
      className={`flex flex-col gap-3 rounded-md border p-3 ${of.state === 'pending' ? 'border-attention' : 'border-line'}`}
    >
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="flex items-center gap-1 font-medium">
          <AgentName id={of.agent_id} name={agent} /> {words.kinds[kind].wants}
        </span>
        {of.task && (
          <TextLink className="text-accent leading-[24px] hover:underline" href={`/tasks?task=${of.task}`}>
            {of.task}
          </TextLink>
        )}
        {of.state === 'pending' ? (
          of.expires_at && (
            <span>
              <Countdown over={of.source === 'wardroom' ? words.expired : words.over} until={of.expires_at} />
              {of.source !== 'wardroom' && <span className="text-soft">, {words.kinds[kind].after(agent)}</span>}
            </span>
          )
        ) : (
          <span className="text-soft">
            <bdi>{endedText(of, kind, agent)}</bdi>
          </span>
        )}
      </p>
      {of.session_key && <Session of={of.session_key} waits={of.state === 'pending' && of.source !== 'wardroom'} />}
      {children}
      {of.state === 'pending' && (lead ? buttons : <p className="text-soft">{words.onlyLeads}</p>)}
      {of.state === 'expired' && lead && of.session_key && (
        <TextLink className={`self-start ${buttonClass()}`} href={`${sessionHref(of.session_key)}?compose=1`}>
          {words.tell(agent)}
        </TextLink>
      )}
    </section>
  )
}
