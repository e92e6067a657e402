import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useTaskDialogs } from '../acting/useTaskDialogs'
import { useMe } from '../app/queries'
import { listQuery } from '../inbox/queries'
import { useItemActions } from '../inbox/useItemActions'
import { acting } from '../texts/acting'
import { standups } from '../texts/standups'
import { Button } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { Long, Part, TaskLink } from './Bits'
import { BlockerFacts, BlockerText, Verdict } from './Blockers'
import { type Decision, type Decisions, decisionsOf, withoutAge } from './decisions'
import type { Standup } from './standup'
import type { NameOf } from './useAgentName'

const words = standups

/** Unresolved items, whatever their state, and the latest resolved ones. */
const asking = { kind: 'escalation,old_blocker', state: 'open,acked,snoozed' }
const answered = { kind: 'escalation', state: 'resolved', order: '-last' as const }

/** Returns the decisions that a standup asks for, as far as the inbox is known. */
export function useDecisions(standup: Standup): Decisions {
  const me = useMe().data
  const may = me !== undefined && me.role !== 'agent' && standup.escalations.length + standup.blockers.length > 0
  const open = useInfiniteQuery({ ...listQuery(asking), enabled: may }).data?.pages
  const over = useInfiniteQuery({ ...listQuery(answered), enabled: may && standup.escalations.length > 0 }).data?.pages
  return useMemo(
    () => decisionsOf(standup, may && !open ? undefined : [...(open ?? []), ...(over ?? [])].flatMap(p => p.rows)),
    [standup, may, open, over],
  )
}

/** What a person has to decide, with the button for it. */
export function NeedsDecision({
  decisions,
  titles,
  nameOf,
  sinceOf,
}: {
  decisions: readonly Decision[]
  titles: ReadonlyMap<string, string>
  nameOf: NameOf
  /** Returns since when a task is blocked. */
  sinceOf: (task: string | null) => string | undefined
}) {
  const verbs = useItemActions()
  const [askTask, dialogs] = useTaskDialogs()
  const me = useMe().data
  if (decisions.length === 0) return null
  const decide = ({ item, task }: Decision): (() => void) | null => {
    if (!me || me.role === 'agent') return null
    if (task) return () => askTask('decide', task)
    return item && (() => verbs.decide(item))
  }
  return (
    <Part count={decisions.length} title={words.needsDecision}>
      <ul className="flex flex-col gap-2">
        {decisions.map(d => (
          <li
            key={`${d.task} ${d.title} ${d.detail}`}
            className="rounded-md border border-attention-tint bg-attention-tint px-3 py-2 print:border-line"
            data-steady
          >
            {d.blocker ? (
              <>
                <BlockerText blocker={d.blocker} titles={titles} />
                <BlockerFacts blocker={d.blocker} nameOf={nameOf} since={sinceOf(d.task)} />
                {d.detail && (
                  <details className="mt-1">
                    <summary className="w-fit cursor-pointer py-1 text-soft pointer-coarse:py-2">
                      {words.detail}
                    </summary>
                    <Long text={d.detail} />
                  </details>
                )}
              </>
            ) : (
              <Told decision={d} />
            )}
            <Buttons decision={d} onDecide={decide(d)} />
          </li>
        ))}
      </ul>
      {verbs.questions}
      {dialogs}
    </Part>
  )
}

const Told = ({ decision: d }: { decision: Decision }) => (
  <>
    <p className="wrap-anywhere flex gap-1.5 font-medium">
      <Icon className="mt-px text-attention" name="up" />
      <bdi className="min-w-0">{withoutAge(d.title)}</bdi>
    </p>
    {d.detail && <Long className="mt-1" text={d.detail} />}
  </>
)

function Buttons({ decision: d, onDecide }: { decision: Decision; onDecide: (() => void) | null }) {
  return (
    <p className="no-print mt-2 flex flex-wrap items-center gap-x-3 gap-y-2">
      {onDecide && (
        <Button
          aria-label={acting.of(acting.decide.button, d.task ?? d.title)}
          icon="comment"
          look="primary"
          onClick={onDecide}
        >
          {acting.decide.button}
        </Button>
      )}
      {d.item && (
        <Link className="text-accent underline" search={{ item: d.item.id }} to="/inbox">
          {words.blocker.inbox}
        </Link>
      )}
    </p>
  )
}

/** Escalations that are settled. */
export function SettledEscalations({ decisions }: { decisions: readonly Decision[] }) {
  if (decisions.length === 0) return null
  return (
    <Part count={decisions.length} title={words.escalations}>
      <ul className="flex flex-col divide-y divide-line rounded-md border border-line">
        {decisions.map(d => (
          <li key={`${d.task} ${d.title} ${d.detail}`} className="px-3 py-2" data-steady>
            <Told decision={d} />
            {d.answer && <Verdict {...d.answer} />}
            {d.task && (
              <p className="mt-1 text-xs">
                <TaskLink of={d.task} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </Part>
  )
}
