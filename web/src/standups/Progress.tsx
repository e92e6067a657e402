import { useGatewayLacks } from '../app/gatewayLacks'
import { standups } from '../texts/standups'
import { Age } from '../ui/Age'
import { AgentName } from '../ui/Face'
import { State } from '../ui/State'
import { ReportMark } from './Bits'
import { progressSentence } from './progress'
import { progressOf, type Standup } from './standup'
import type { NameOf } from './useAgentName'

const words = standups.progress

/** The progress of a running standup: who is answering, for how long, and who is next. */
export function ProgressOf({ standup, nameOf }: { standup: Standup; nameOf: NameOf }) {
  const lacks = useGatewayLacks()
  const p = progressOf(standup)
  if (!p) return null
  const reviews = p.now === 'reviewing'
  return (
    <section aria-label={words.label} className="flex flex-col gap-2 rounded-md border border-line bg-panel px-3 py-2">
      <p className="font-medium">
        {/* Announced when the phase changes, not every second. */}
        <span role="status">
          <bdi>{progressSentence(p, nameOf)}</bdi>
        </span>
        {p.since && p.now !== 'opened' && (
          <span className="ml-1 font-normal text-soft">
            {words.since} <Age at={p.since} />
          </span>
        )}
      </p>
      {p.now !== 'opened' && lacks.runs && <p className="text-attention">{words.away}</p>}
      {p.now !== 'opened' && (
        <ol className="flex flex-wrap gap-x-5 gap-y-1">
          {standup.reports.map(r => (
            <li key={r.agent_id} className="flex min-w-0 items-center gap-1.5">
              <AgentName id={r.agent_id} name={nameOf(r.agent_id)} />
              <ReportMark of={r.status} />
            </li>
          ))}
          <li className="flex min-w-0 items-center gap-1.5">
            <AgentName id={standup.facilitator} name={nameOf(standup.facilitator)} />
            <State icon={reviews ? 'pulse' : 'sleep'} tone={reviews ? 'active' : 'idle'}>
              {words.review}: {reviews ? words.reads : words.waiting}
            </State>
          </li>
        </ol>
      )}
      {standup.deadline_at && (
        <p className="text-soft text-xs">
          {words.deadline} <Age at={standup.deadline_at} />.
        </p>
      )}
    </section>
  )
}
