import { Link } from '@tanstack/react-router'
import { cost } from '../app/format'
import { leads, useMe } from '../app/queries'
import { AnswerAgent } from '../approvals/AnswerAgent'
import { useAsked } from '../approvals/useWaiting'
import { useRepeating, useRepeatingSessions } from '../inbox/useRepeating'
import { useStop } from '../sessions/Stop'
import { soFar, useActiveOf } from '../spend/activeRuns'
import { texts } from '../texts'
import { agents as words } from '../texts/agents'
import { sessions } from '../texts/sessions'
import { Button } from '../ui/Button'
import { Face } from '../ui/Face'
import { Flash } from '../ui/Flash'
import { Badge, Chip } from '../ui/State'
import { type Agent, type AgentSession, titleOf } from './agent'
import { CostBars, NextRun, PresenceMark, Runs, TaskCounts } from './Bits'
import { HeldNotice } from './Hold'
import { MessageLink } from './MessageLink'
import { Work } from './Work'

const f = words.fields

interface Props {
  agent: Agent
  /** Whether it facilitates standups. */
  facilitates: boolean
}

/** An agent: what it works on or did last, and its week in numbers. */
export function AgentCard({ agent: a, facilitates }: Props) {
  const s = a.summary
  const id = a.agent_id
  const waits = useAsked().has(id)
  const repeats = useRepeating().has(id)
  return (
    <li className="hairline flex min-w-0 flex-col rounded-md bg-raised">
      <header className="flex min-w-0 items-center gap-2.5 p-3 pb-0">
        <Face agent={id} name={a.name} size="lg" />
        <div className="min-w-0 grow">
          <h3 className="flex min-w-0 items-center gap-2">
            <Link
              className="min-w-0 truncate font-semibold text-base hover:underline"
              params={{ agentId: id }}
              to="/agents/$agentId"
            >
              <bdi>{a.name}</bdi>
            </Link>
            {facilitates && <Chip>{words.facilitator}</Chip>}
          </h3>
          <Flash of={a.presence && `${a.presence.state} ${a.presence.stalled}`}>
            <PresenceMark of={a} />
          </Flash>
        </div>
        <AnswerAgent agent={id} name={a.name} />
        {!waits && s?.session && <StopRepeating of={s.session} />}
        <span className={waits || repeats ? 'max-sm:hidden' : ''}>
          <MessageLink to={a} />
        </span>
      </header>
      <div className="min-h-28 grow p-3">
        <HeldNotice of={a} />
        {s?.session ? (
          <Work brief clamp="line-clamp-3" label={s.session.run ? '' : f.last} of={s.session} />
        ) : (
          <p className="text-soft">{a.presence?.state === 'idle' ? words.neverRan : words.sessionsUnknown}</p>
        )}
        {s && <Started of={s} />}
      </div>
      {s && <Facts id={id} of={s} />}
    </li>
  )
}

/** A button that stops a session's run if the run repeats itself. */
function StopRepeating({ of: s }: { of: AgentSession }) {
  const repeats = useRepeatingSessions().has(s.key)
  const may = leads(useMe().data)
  const [ask, question] = useStop()
  if (!repeats || !may) return null
  return (
    <>
      <Button look="alarm" onClick={() => ask(s)}>
        {sessions.stopShort}
      </Button>
      {question}
    </>
  )
}

/** The agent's week in numbers; on a phone, its spend and tasks in one line. */
function Facts({ id, of: s }: { id: string; of: NonNullable<Agent['summary']> }) {
  const active = useActiveOf(id)
  return (
    <dl className="flex flex-wrap border-line border-t px-3 py-2 sm:grid sm:grid-cols-[6.5rem_minmax(0,1fr)] items-center gap-x-3 *:py-1 max-sm:[&>dt]:sr-only [&>dt]:text-soft [&>dt]:text-xs">
      <dt>{f.spend}</dt>
      <dd className="flex items-center gap-3 whitespace-nowrap">
        <span className="font-medium">{cost(soFar(active, s.spend.last_7_days))}</span>
        <span className="-ml-2 text-soft sm:hidden">{words.inWeek}</span>
        <span className="max-sm:hidden">
          <CostBars id={id} spend={s.spend} />
        </span>
        <span className="text-soft text-xs max-sm:hidden">{words.today(cost(soFar(active, s.spend.today)))}</span>
      </dd>
      <dt className="max-sm:hidden">{f.runs}</dt>
      <dd className="max-sm:hidden">
        <Runs id={id} of={s.runs_last_7_days} />
      </dd>
      <dt>{f.tasks}</dt>
      <dd>
        <TaskCounts brief id={id} of={s.tasks} />
      </dd>
      <dt className="max-sm:hidden">{f.next}</dt>
      <dd className="max-sm:hidden">
        {s.next_run ? <NextRun of={s.next_run} /> : <span className="text-soft">{words.noNext}</span>}
      </dd>
    </dl>
  )
}

/** The tasks in progress that the shown session is not about. */
function Started({ of: s }: { of: NonNullable<Agent['summary']> }) {
  const shown = s.session && titleOf(s.session).task
  const others = s.in_progress.filter(t => t.key !== shown)
  if (others.length === 0) return null
  return (
    <div className="mt-2.5">
      <p className="text-soft text-xs">{s.session?.run ? f.alsoStarted : f.started}</p>
      <ul>
        {others.map(t => (
          <li key={t.key} className="flex min-h-6 min-w-0 items-center gap-2">
            <span className="key shrink-0 text-soft">{t.key}</span>
            <Link className="min-w-0 truncate hover:underline" search={{ task: t.key }} title={t.title} to="/tasks">
              <bdi>{t.title}</bdi>
            </Link>
            {t.blocked && (
              <Badge icon="blocked" tone="danger">
                {texts.tasks.fields.blocked}
              </Badge>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}
