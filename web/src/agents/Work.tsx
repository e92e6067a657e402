import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { cost, money } from '../app/format'
import { useWaiting } from '../approvals/useWaiting'
import { agentOf } from '../inbox/item'
import { useRepeatingSessions } from '../inbox/useRepeating'
import { StandingMark } from '../sessions/Bits'
import { agentWords, standing } from '../sessions/session'
import { activeRunsQuery, soFar } from '../spend/activeRuns'
import { agents as words } from '../texts/agents'
import { Age } from '../ui/Age'
import { Flash } from '../ui/Flash'
import { State } from '../ui/State'
import { sessionHref, TextLink } from '../ui/TextLink'
import { type AgentSession, titleOf } from './agent'

interface Props {
  of: AgentSession
  /** Shown before the facts, such as "Last result". */
  label?: string
  /** Whether to leave out how long the run takes, because the agent's status says so. */
  brief?: boolean
  /** Shown after the title. */
  more?: ReactNode
  /** Limits the last words to some lines. */
  clamp?: string
}

/** A session: how it goes or ended, what it is about, and its last words. */
export function Work({ of: s, label, brief = false, more, clamp = '' }: Props) {
  const { name, task } = titleOf(s)
  const said = useRepeatingSessions().get(s.key) || agentWords(s)
  const link = 'min-w-0 truncate font-medium leading-[24px] hover:underline'
  return (
    <div className="flex min-w-0 flex-col gap-0.5">
      <p className="flex flex-wrap items-baseline gap-x-2 text-soft text-xs">
        {label && <span>{label}</span>}
        {s.run ? <Progress brief={brief} of={s} run={s.run} /> : <Result of={s} />}
      </p>
      <p className="flex min-h-6 min-w-0 items-center gap-3">
        {task && task !== name && <span className="key shrink-0 text-soft">{task}</span>}
        {task ? (
          <Link className={link} search={{ task }} title={name} to="/tasks">
            <bdi>{name}</bdi>
          </Link>
        ) : (
          <TextLink className={link} href={sessionHref(s.key)} title={name}>
            <bdi>{name}</bdi>
          </TextLink>
        )}
        {s.run && <SoFar of={s} />}
        {more}
        {task && (
          <TextLink
            className="shrink-0 text-accent text-xs leading-[24px] hover:underline"
            href={sessionHref(s.key)}
            title={s.key}
          >
            {words.openRun}
          </TextLink>
        )}
      </p>
      {said && (
        <p className={`wrap-anywhere text-soft ${clamp}`} title={said}>
          <bdi>{said}</bdi>
        </p>
      )}
    </div>
  )
}

/** The cost so far of the run in progress. */
function SoFar({ of }: { of: AgentSession }) {
  const active = useQuery(activeRunsQuery).data?.runs.filter(r => r.session_key === of.key) ?? []
  if (active.length === 0) return null
  const spent = words.soFar(cost(soFar(active)))
  return (
    <span className="shrink-0 text-soft text-xs">
      <Flash of={spent}>{spent}</Flash>
    </span>
  )
}

/** How long the run in progress has taken. */
function Progress({ of, run, brief }: { of: AgentSession; run: NonNullable<AgentSession['run']>; brief: boolean }) {
  const asked = useWaiting().get(agentOf(of.key))
  return (
    <>
      {asked?.session === of.key || (brief && !asked && run.since) ? null : run.since ? (
        <span>
          {asked ? words.alsoWorkingFor : words.workingFor} <Age at={run.since} />
        </span>
      ) : (
        <span>{words.noStart}</span>
      )}
      {run.stalled && run.silent_since && (
        <State tone="attention">
          {words.silentFor} <Age at={run.silent_since} />
        </State>
      )}
    </>
  )
}

/** When the last run ended, and how, unless it succeeded. */
function Result({ of }: { of: AgentSession }) {
  return (
    <>
      {standing(of) !== 'rests' && <StandingMark of={of} />}
      {of.updated_at && (
        <span>
          <Age at={of.updated_at} /> {words.page.ago}
        </span>
      )}
      {of.cost_usd && <span>{money(of.cost_usd)}</span>}
    </>
  )
}
