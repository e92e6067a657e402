import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { dayIn } from '../app/days'
import { day } from '../app/format'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { dayText } from '../ui/dates'
import { Face } from '../ui/Face'
import { Badge, type Look, State } from '../ui/State'
import { dueDay } from './fields'
import type { Status, Task, TaskCard } from './task'

const words = texts.tasks

export const priorityLook: Record<Task['priority'], Look> = {
  urgent: { tone: 'danger', icon: 'warning' },
  high: { tone: 'attention', icon: 'up' },
  medium: { tone: 'idle', icon: 'equal' },
  low: { tone: 'idle', icon: 'down' },
}

/** The priority. If `brief`, low priorities have a visible word only on a wide card. */
export function PriorityMark({ of, brief = false }: { of: Task['priority']; brief?: boolean }) {
  const word = words.priority[of]
  const hides = brief && priorityLook[of].tone === 'idle'
  return (
    <State {...priorityLook[of]} {...(hides ? { title: word } : {})}>
      <span className={hides ? '@max-[14rem]:sr-only' : ''}>{word}</span>
    </State>
  )
}

export const statusLook: Record<Status, Look> = {
  backlog: { tone: 'idle', icon: 'archive' },
  todo: { tone: 'idle', icon: 'tasks' },
  in_progress: { tone: 'active', icon: 'pulse' },
  review: { tone: 'attention', icon: 'eye' },
  done: { tone: 'done', icon: 'check' },
}

/** The status of a task's column, or that the task is blocked. */
export const StatusMark = ({ of, blocked }: { of: Status; blocked?: unknown }) =>
  blocked ? (
    <State icon="blocked" tone="danger">
      {words.fields.blocked}
    </State>
  ) : (
    <State {...statusLook[of]}>{words.status[of]}</State>
  )

export const nameOf = (id: string | null, people: ReadonlyMap<string, Person>): string =>
  id === null ? words.unassigned : (people.get(id)?.name ?? words.somebody)

/** The face and name of the assignee, or that nobody is. */
export function Holder({ of, people }: { of: string | null; people: ReadonlyMap<string, Person> }) {
  const name = nameOf(of, people)
  if (of === null) return <span className="truncate text-soft">{name}</span>
  return (
    <span className="inline-flex min-w-0 max-w-full items-center gap-1.5">
      <Face agent={people.get(of)?.agent ?? null} name={name} />
      <bdi className="truncate">{name}</bdi>
    </span>
  )
}

/** The due day; red if it has passed in the server's time zone. If `brief`, without a background and with its word. */
export function Due({ task, brief = false }: { task: TaskCard; brief?: boolean }) {
  const zone = useZone()
  const due = task.due_at === null ? null : dueDay(task.due_at, zone)
  const late = useTicking(now => due !== null && task.status !== 'done' && due < dayIn(now, zone ?? 'UTC'))
  if (due === null) return null
  const title = `${late ? words.overdue : words.fields.due} ${dayText(due, 'full')}`
  const shown = day(`${due}T12:00`)
  if (!late)
    return (
      <span title={title}>
        <span className={brief ? '@max-[13rem]:hidden' : 'sm:sr-only'}>{words.fields.due} </span>
        {shown}
      </span>
    )
  const Mark = brief ? State : Badge
  return (
    <Mark icon="clock" title={title} tone="danger">
      <span>{words.overdue} </span>
      <span className={brief ? '@max-[16rem]:sr-only' : ''}>{shown}</span>
    </Mark>
  )
}
