import { agents as agentTexts } from '../texts/agents'
import { Age } from '../ui/Age'
import { Badge, type Look, State } from '../ui/State'
import type { Agent, AgentDetails } from './agent'

const words = agentTexts

type Word = keyof typeof words.presence

const looks: Record<Word, Look> = {
  active: { tone: 'active', icon: 'pulse' },
  idle: { tone: 'idle', icon: 'sleep' },
  offline: { tone: 'danger', icon: 'off' },
  stalled: { tone: 'attention', icon: 'warning' },
  unknown: { tone: 'idle', icon: 'off' },
}

type Seen = Pick<Agent, 'presence' | 'in_runtime'>

/**
 * Returns the status word of an agent. A stalled run is not "active", and an agent whose presence is unknown is not
 * "offline".
 */
export function wordOf({ presence: p, in_runtime: there }: Seen): Word {
  if (p === null || there === null) return 'unknown'
  return p.stalled ? 'stalled' : p.state
}

/** The status of an agent, with its reason as tooltip and its duration if known. */
export function PresenceMark({ of, age = true }: { of: Seen; age?: boolean }) {
  const word = wordOf(of)
  const p = of.presence
  // The time the gateway has been offline says nothing about the agent.
  const since = word === 'unknown' ? null : p?.stalled ? p.silent_since : p?.since
  return (
    <span className="inline-flex items-center gap-1.5">
      <State icon={looks[word].icon} title={p?.reason ?? words.unseenWhy} tone={looks[word].tone}>
        {words.presence[word]}
      </State>
      {age && since && <Age at={since} className="text-soft text-xs" />}
    </span>
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
