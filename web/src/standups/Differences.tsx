import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { addDays } from '../app/days'
import { money, span } from '../app/format'
import { standups } from '../texts/standups'
import { Answer } from '../ui/Views'
import { TaskState } from './ActionItems'
import { dayText, TaskLink } from './Bits'
import { withoutAge } from './decisions'
import { type Difference, differences } from './diff'
import { dayAddress, latestQuery, oneQuery } from './queries'
import type { Standup } from './standup'
import type { NameOf } from './useAgentName'

const words = standups.differences

/** The changes since the previous standup: blockers, participants, cost, and action items. */
export function Differences({ standup, nameOf }: { standup: Standup; nameOf: NameOf }) {
  const found = useQuery(latestQuery(standup.team, addDays(standup.date, -1)))
  const id = found.data?.id
  const before = useQuery({ ...oneQuery(id ?? ''), enabled: id !== undefined })
  return (
    <section className="no-print flex flex-col gap-2">
      <h3 className="font-semibold text-base">{words.title}</h3>
      {found.data === null ? (
        <p className="text-soft">{words.first}</p>
      ) : (
        <Answer of={id === undefined ? { ...before, error: found.error } : before} rows={3} what={standups.what}>
          {was => <List before={was} nameOf={nameOf} standup={standup} />}
        </Answer>
      )}
    </section>
  )
}

function List({ standup, before, nameOf }: { standup: Standup; before: Standup; nameOf: NameOf }) {
  const all = useMemo(() => differences(standup, before), [standup, before])
  return (
    <>
      <p className="text-soft text-xs">
        <Link className="text-accent underline" search={dayAddress(before.team, before.date)} to="/standups">
          {words.with(dayText(before.date))}
        </Link>
      </p>
      {all.length === 0 ? (
        <p className="text-soft">{standup.status === 'running' ? words.goesOn : words.same}</p>
      ) : (
        <ul className="flex flex-col gap-1.5">
          {all.map(d => (
            <li key={keyOf(d)} className="wrap-anywhere">
              <One difference={d} nameOf={nameOf} />
            </li>
          ))}
        </ul>
      )}
      {before.action_items.length > 0 && (
        <>
          <h4 className="mt-1 font-medium text-soft text-xs">{words.items}</h4>
          <ul className="flex flex-col gap-1.5">
            {before.action_items.map(item => (
              <li key={item.task ?? item.title} className="wrap-anywhere">
                <bdi>{item.title}</bdi> {item.task && <TaskState of={item.task} />}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

function keyOf(d: Difference): string {
  if ('blocker' in d) return `${d.kind} ${d.blocker.id ?? d.blocker.text}`
  return 'agent' in d ? `${d.kind} ${d.agent}` : d.kind
}

function One({ difference: d, nameOf }: { difference: Difference; nameOf: NameOf }) {
  switch (d.kind) {
    case 'blocker_new':
    case 'blocker_gone':
      return (
        <>
          <span className="font-medium">{words[d.kind]}</span>{' '}
          <span className="text-soft text-xs">
            <bdi>{nameOf(d.blocker.agent_id)}</bdi>
          </span>{' '}
          {d.blocker.task ? (
            // The blocker itself is told beside this.
            <TaskLink of={d.blocker.task} />
          ) : (
            <bdi className="line-clamp-2">{withoutAge(d.blocker.text)}</bdi>
          )}
        </>
      )
    case 'cost':
      return words.cost(money(d.by), d.up)
    case 'length':
      return words.length(span(d.by), d.up)
    default:
      return <bdi>{words[d.kind](nameOf(d.agent))}</bdi>
  }
}
