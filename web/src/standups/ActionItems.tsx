import { useQuery } from '@tanstack/react-query'
import { asProblem } from '../api/problem'
import { StatusMark } from '../tasks/Bits'
import { oneQuery } from '../tasks/queries'
import { standups } from '../texts/standups'
import { Part, TaskLink } from './Bits'
import { CreateTask } from './CreateTask'
import type { Standup } from './standup'
import type { NameOf } from './useAgentName'

const words = standups

/** A task with its status. */
export function TaskState({ of }: { of: string }) {
  const asked = useQuery({ ...oneQuery(of), retry: false })
  return (
    <span className="inline-flex items-center gap-2">
      <TaskLink of={of} />
      {asked.data ? (
        <StatusMark blocked={asked.data.blocked} of={asked.data.status} />
      ) : (
        asked.error && asProblem(asked.error).status === 404 && <span className="text-soft">{words.taskGone}</span>
      )}
    </span>
  )
}

const none: Record<Standup['status'], string> = {
  running: words.itemsCome,
  completed: words.noItems,
  error: words.itemsUnknown,
}

/** The action items of the standup, with the tasks created from them. */
export function ActionItems({ standup, nameOf }: { standup: Standup; nameOf: NameOf }) {
  // While the standup is repeated, the items are those of the earlier attempt.
  const items = standup.status === 'running' ? [] : standup.action_items
  return (
    <Part count={items.length} title={words.items}>
      {items.length === 0 ? (
        <p className="text-soft">{none[standup.status]}</p>
      ) : (
        <ul className="flex flex-col divide-y divide-line rounded-md border border-line">
          {items.map((item, i) => (
            <li
              key={item.task ?? `${item.assignee} ${item.title}`}
              className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2"
              data-steady
            >
              <bdi className="wrap-anywhere min-w-0 basis-full">{item.title}</bdi>
              <bdi className="text-soft text-xs">
                {item.assignee ? words.forAgent(nameOf(item.assignee)) : words.nobody}
              </bdi>
              {item.task ? (
                <TaskState of={item.task} />
              ) : (
                <CreateTask name={`item-${i}`} owner={item.assignee} standup={standup} title={item.title} />
              )}
            </li>
          ))}
        </ul>
      )}
    </Part>
  )
}
