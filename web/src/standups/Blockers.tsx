import { standups } from '../texts/standups'
import { Age } from '../ui/Age'
import { AgentName } from '../ui/Face'
import { Icon } from '../ui/Icon'
import { Badge, type Look } from '../ui/State'
import { dayText, Long, Part, TaskLink } from './Bits'
import { CreateTask } from './CreateTask'
import { blockedSince, reasonOf } from './decisions'
import { type Blocker, type Fate, fateOf, type Standup, verdictOf } from './standup'
import type { NameOf } from './useAgentName'

const words = standups
const w = words.blocker

const fateLook: Record<Fate, Look> = {
  open: { tone: 'danger', icon: 'blocked' },
  decided: { tone: 'idle', icon: 'comment' },
  escalated: { tone: 'attention', icon: 'flag' },
  ended: { tone: 'done', icon: 'check' },
}

/** An empty list means "no blockers" only if the standup was completed. */
const none: Record<Standup['status'], string> = {
  running: words.blockersCome,
  completed: words.noBlockers,
  error: words.blockersUnknown,
}

interface Props {
  standup: Standup
  /** The blockers that are not told elsewhere. */
  blockers: readonly Blocker[]
  titles: ReadonlyMap<string, string>
  nameOf: NameOf
}

/** The blockers, with their age and outcome. */
export function Blockers({ standup, blockers, titles, nameOf }: Props) {
  if (blockers.length === 0 && standup.blockers.length > 0) return null
  return (
    <Part count={blockers.length} title={words.blockers}>
      {blockers.length === 0 ? (
        <p className="text-soft">{none[standup.status]}</p>
      ) : (
        <ul className="flex flex-col divide-y divide-line rounded-md border border-line">
          {blockers.map((b, i) => (
            <li key={b.id ?? `decided ${b.text}`} className="flex flex-col gap-1 px-3 py-2" data-steady>
              <Row
                blocker={b}
                facilitator={standup.facilitator}
                nameOf={nameOf}
                since={blockedSince(standup, b.task)}
                titles={titles}
              />
              {!b.task && b.status === 'open' && (
                <CreateTask
                  detail={b.text}
                  name={b.id ?? `blocker-${i}`}
                  owner={b.agent_id}
                  standup={standup}
                  title={b.text}
                />
              )}
            </li>
          ))}
        </ul>
      )}
    </Part>
  )
}

interface RowProps extends Pick<Props, 'titles' | 'nameOf'> {
  blocker: Blocker
  facilitator: string
  since: string | undefined
}

function Row({ blocker: b, facilitator, since, titles, nameOf }: RowProps) {
  const said = verdictOf(b, nameOf(facilitator))
  const fate = fateOf(b)
  const look = fateLook[fate]
  return (
    <>
      <div className="flex flex-wrap items-start gap-x-3 gap-y-1">
        <BlockerText blocker={b} className="grow basis-64" titles={titles} />
        <Badge icon={look.icon} tone={look.tone}>
          {fate === 'escalated' ? w.escalated(dayText(b.escalated_on ?? '')) : w.fate[fate]}
        </Badge>
      </div>
      <BlockerFacts blocker={b} nameOf={nameOf} since={since} />
      {said && <Verdict {...said} />}
    </>
  )
}

/** Who decided what. */
export const Verdict = ({ by, text }: { by: string; text: string }) => (
  <div className="mt-1 flex gap-1.5">
    <Icon className="mt-0.5 text-soft" name="comment" />
    <div className="min-w-0">
      <p className="text-soft">
        <bdi>{w.decided(by)}</bdi>
      </p>
      <Long text={text} />
    </div>
  </div>
)

/** The task that is blocked, and why. */
export function BlockerText({
  blocker: b,
  titles,
  className = '',
}: {
  blocker: Blocker
  titles: ReadonlyMap<string, string>
  className?: string
}) {
  return (
    <div className={`wrap-anywhere min-w-0 ${className}`}>
      {b.task && (
        <p className="font-medium">
          <TaskLink of={b.task} /> <bdi>{titles.get(b.task)}</bdi>
        </p>
      )}
      <p>
        <bdi className="line-clamp-4">{reasonOf(b, titles)}</bdi>
      </p>
    </div>
  )
}

interface FactsProps {
  blocker: Blocker
  nameOf: NameOf
  /** Since when its task is blocked on the board. The task says the same age. */
  since?: string | undefined
}

/** Whom a blocker blocks and since when, and how it ended. */
export function BlockerFacts({ blocker: b, nameOf, since }: FactsProps) {
  return (
    <p className="text-soft text-xs">
      <AgentName className="align-middle" id={b.agent_id} name={nameOf(b.agent_id)} />{' '}
      {b.status === 'open' ? (
        <span title={w.since(dayText(b.first_seen))}>
          {w.blockedFor} <Age at={since ?? `${b.first_seen}T00:00:00`} />
        </span>
      ) : (
        <span title={w.since(dayText(b.first_seen))}>{w.wasBlockedFor(b.age_days)}</span>
      )}
      {b.ended_why && (
        <bdi> · {b.decision && b.ended_why === 'decided' ? w.decidedBy(b.decision.by) : w.why[b.ended_why]}</bdi>
      )}
      {b.named_by.length > 1 && (
        <>
          {' · '}
          <bdi>{w.named(b.named_by.map(nameOf).join(', '))}</bdi>
        </>
      )}
      {b.named_by.length === 0 && b.id !== null && ` · ${w.unnamed}`}
    </p>
  )
}
