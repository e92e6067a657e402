import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Schemas } from '../api/client'
import { cost } from '../app/format'
import { isNobody, queries } from '../app/queries'
import { useWaiting } from '../approvals/useWaiting'
import { WaitsMark } from '../approvals/WaitsMark'
import { useRepeatingSessions } from '../inbox/useRepeating'
import { liveQuery } from '../sessions/queries'
import { agentOf, agentWords, type Session } from '../sessions/session'
import { useSessionNames } from '../sessions/useSessionNames'
import { soFar, useActiveOf } from '../spend/activeRuns'
import { now as nowWords } from '../texts/now'
import { Age } from '../ui/Age'
import { Face } from '../ui/Face'
import { Flash } from '../ui/Flash'
import { GatewayLine } from '../ui/GatewayLine'
import { Keys } from '../ui/Keys'
import { State } from '../ui/State'
import { sessionHref, TextLink } from '../ui/TextLink'
import { Answer, Partial } from '../ui/Views'
import { Card, Nothing } from './Card'
import { todayQuery } from './queries'
import { isKnown } from './statusFacts'
import { sessionOf } from './tile'
import { useDay } from './useDay'

const words = nowWords.agents

/** A tile per agent: the run in progress, or else its last result, and what it costs. */
export function Agents({ className }: { className: string }) {
  const agents = useQuery(queries.agents)
  const live = useQuery(liveQuery)
  const gateway = useQuery(queries.gateway).data
  // Cached sessions are outdated once the gateway is offline.
  const sessions = live.error ? undefined : live.data?.rows
  const waiting = useWaiting()
  const repeating = useRepeatingSessions()
  const shown = useMemo(() => {
    const told = (agent: string) =>
      waiting.get(agent)?.session ?? [...repeating.keys()].find(key => agentOf(key) === agent)
    const of = (agent: string) => sessionOf(agent, sessions ?? [], told(agent))
    return new Map((agents.data ?? []).map(a => [a.agent_id, of(a.agent_id)]))
  }, [agents.data, sessions, waiting, repeating])
  const nameOf = useSessionNames(useMemo(() => [...shown.values()].flatMap(s => s?.key ?? []), [shown]))
  return (
    <Card className={className} title={words.title} to={{ path: '/agents', label: words.title }}>
      <GatewayLine>{words.away}</GatewayLine>
      {live.error && gateway?.state === 'connected' ? <Partial>{words.noSessions}</Partial> : null}
      <Answer of={agents} rows={3} what={words.what}>
        {list =>
          list.length === 0 ? (
            <Nothing title={isNobody(list, gateway) ? words.none : words.noneKnown}>{words.noneHelp}</Nothing>
          ) : (
            <ul className="-mr-px -mb-px grid grid-cols-[repeat(auto-fill,minmax(min(21rem,100%),1fr))]">
              {list.map(a => {
                const session = shown.get(a.agent_id)
                return (
                  <li key={a.agent_id} className="flex min-w-0 flex-col border-line border-r border-b p-3">
                    <p className="flex items-center gap-2">
                      <Face agent={a.agent_id} name={a.name} />
                      <TextLink
                        className="min-w-0 truncate font-semibold leading-[24px] hover:underline"
                        href={`/agents/${encodeURIComponent(a.agent_id)}`}
                      >
                        <bdi>{a.name}</bdi>
                      </TextLink>
                      <span className="ml-auto shrink-0">
                        <Flash of={a.presence && `${a.presence.state} ${a.presence.stalled}`}>
                          <WaitsMark agent={a.agent_id}>
                            <Presence of={a} />
                          </WaitsMark>
                        </Flash>
                      </span>
                    </p>
                    {session ? (
                      <Run name={nameOf(session.key).name} of={session} />
                    ) : (
                      <p className="text-soft sm:min-h-14">{sessions ? words.noRuns : ''}</p>
                    )}
                    <Cost agent={a.agent_id} />
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
      {since && <Age at={since} className="text-soft" say="for" />}
    </State>
  )
}

/** A run: its title and the agent's last words. */
function Run({ of, name }: { of: Session; name: string }) {
  const line = useRepeatingSessions().get(of.key) || agentWords(of)
  const failed = !of.active && of.status === 'failed'
  return (
    <>
      <p className="flex min-w-0">
        <TextLink className="min-w-0 truncate leading-[24px] hover:underline" href={sessionHref(of.key)} title={name}>
          <bdi>
            <Keys>{name}</Keys>
          </bdi>
        </TextLink>
      </p>
      <p
        className={`wrap-anywhere line-clamp-2 text-xs sm:min-h-8 ${failed ? 'text-danger' : 'text-soft'}`}
        title={line}
      >
        <bdi>
          <Keys>{line}</Keys>
        </bdi>
      </p>
    </>
  )
}

/** What the agent's runs of today have cost, with those in progress so far. */
function Cost({ agent }: { agent: string }) {
  const today = useQuery(todayQuery(useDay())).data
  const going = useActiveOf(agent)
  const share = today?.groups.find(g => g.key === agent && !g.rest)
  const text =
    share || going.length > 0
      ? words.today(cost(soFar(going, share)), share?.runs ?? 0, going.length)
      : today
        ? words.noneToday
        : ''
  return (
    <p className="mt-auto pt-1.5 text-soft text-xs sm:min-h-5.5">
      <Flash of={text || null}>{text}</Flash>
    </p>
  )
}
