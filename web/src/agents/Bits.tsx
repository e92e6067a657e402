import { Link } from '@tanstack/react-router'
import type { Schemas } from '../api/client'
import { cost, unknown } from '../app/format'
import { WaitsMark } from '../approvals/WaitsMark'
import { useActiveOf } from '../spend/activeRuns'
import { agents as words } from '../texts/agents'
import { Age } from '../ui/Age'
import { DayBars } from '../ui/chart/DayBars'
import { hueOf } from '../ui/hue'
import { Icon } from '../ui/Icon'
import { Badge, type Look, State } from '../ui/State'
import { type Agent, type AgentDetails, daysOf, type Spend } from './agent'

type Word = keyof typeof words.presence

const looks: Record<Word, Look> = {
  active: { tone: 'active', icon: 'pulse' },
  idle: { tone: 'idle', icon: 'sleep' },
  offline: { tone: 'danger', icon: 'off' },
  stalled: { tone: 'attention', icon: 'warning' },
  unknown: { tone: 'idle', icon: 'off' },
}

type Seen = Pick<Agent, 'agent_id' | 'presence' | 'in_runtime'>

/**
 * Returns the status word of an agent. A stalled run is not "active", and an agent whose presence is unknown is not
 * "offline".
 */
export function wordOf({ presence: p, in_runtime: there }: Omit<Seen, 'agent_id'>): Word {
  if (p === null || there === null) return 'unknown'
  return p.stalled ? 'stalled' : p.state
}

/** The status of an agent, with its reason as tooltip and its duration if known. */
export function PresenceMark({ of }: { of: Seen }) {
  const word = wordOf(of)
  const p = of.presence
  // The time the gateway has been offline says nothing about the agent.
  const since = word === 'unknown' ? null : p?.stalled ? p.silent_since : p?.since
  return (
    <WaitsMark agent={of.agent_id}>
      <State icon={looks[word].icon} title={p?.reason ?? words.unseenWhy} tone={looks[word].tone}>
        {words.presence[word]}
        {since && <Age at={since} className="text-soft text-xs" say="for" />}
      </State>
    </WaitsMark>
  )
}

/** How the agent answered in a standup. */
export function AnswerMark({ of }: { of: AgentDetails['standups'][number]['status'] }) {
  const word = words.page.said[of]
  if (of === 'answered') return <Badge tone="done">{word}</Badge>
  if (of === 'asked') return <Badge tone="active">{word}</Badge>
  return (
    <Badge icon={of === 'timed_out' ? 'clock' : 'error'} tone="danger">
      {word}
    </Badge>
  )
}

const dayFormat = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/** The costs of the last 7 days as bars in the agent's color. */
export function CostBars({ id, spend, texts }: { id: string; spend: Spend; texts?: boolean }) {
  const bars = daysOf(spend, useActiveOf(id)).map(d => ({
    id: d.day,
    day: dayFormat.format(new Date(d.day)),
    value: d.cost ? cost(d.cost) : unknown,
    size: d.bar,
  }))
  const label = `${words.byDay}. ${bars.map(b => `${b.day}: ${b.value}`).join('. ')}`
  return <DayBars bars={bars} hue={hueOf(id)} label={label} texts={texts ?? false} />
}

/** How many of the runs of the last 7 days succeeded, with a link to the failures. */
export function Runs({ id, of }: { id: string; of: Schemas['AgentOutcome'] }) {
  const all = of.succeeded + of.failed
  if (all === 0) return <span className="text-soft">{words.noRuns}</span>
  return (
    <span className="inline-flex flex-wrap gap-x-2">
      <span>{words.succeeded(of.succeeded, all)}</span>
      {of.failed > 0 && (
        <Link
          className="inline-flex items-center gap-1 text-danger hover:underline"
          hash="failures"
          params={{ agentId: id }}
          to="/agents/$agentId"
        >
          <Icon className="size-3.5" name="error" />
          {words.failed(of.failed)}
        </Link>
      )}
    </span>
  )
}

/**
 * The number of open tasks by column and of blocked ones, each with a link to them on the board. `brief` leaves out
 * those not started on a phone.
 */
export function TaskCounts({ id, of, brief }: { id: string; of: Schemas['AgentLoad']; brief?: boolean }) {
  const columns = (['in_progress', 'review', 'todo', 'backlog'] as const).filter(c => of.open[c] > 0)
  if (columns.length === 0) return <span className="text-soft">{words.noTasks}</span>
  return (
    <span className="inline-flex flex-wrap gap-x-3">
      {columns.map(c => (
        <Link
          key={c}
          className={`min-h-[24px] content-center hover:underline ${brief && (c === 'todo' || c === 'backlog') ? 'max-sm:hidden' : ''}`}
          search={{ assignee: id, status: c }}
          to="/tasks"
        >
          {of.open[c]} <span className="text-soft">{words.columns[c]}</span>
        </Link>
      ))}
      {of.blocked > 0 && (
        <Link
          className="inline-flex items-center gap-1 min-h-[24px] text-danger hover:underline"
          search={{ assignee: id, blocked: 'true' }}
          to="/tasks"
        >
          <Icon className="size-3.5" name="blocked" />
          {words.blocked(of.blocked)}
        </Link>
      )}
    </span>
  )
}

/** A scheduled run: its job and when. */
export function NextRun({ of }: { of: Schemas['AgentUpcoming'] }) {
  return (
    <span className="flex min-w-0 items-baseline gap-2">
      <Link className="min-w-0 truncate hover:underline" search={{ job: of.job_id }} title={of.name} to="/schedules">
        <bdi>{of.name}</bdi>
      </Link>
      <Age at={of.at} className="shrink-0 text-soft text-xs" />
    </span>
  )
}
