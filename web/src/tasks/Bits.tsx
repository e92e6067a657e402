import { useTicking } from '../app/clock'
import { day, moment } from '../app/format'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Face } from '../ui/Face'
import { Badge, type Look, State } from '../ui/State'
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

/** The due date; red if the task is overdue. If `brief`, without a background and with its word. */
export function Due({ task, brief = false }: { task: TaskCard; brief?: boolean }) {
  const late = useTicking(now => task.due_at !== null && task.status !== 'done' && Date.parse(task.due_at) < now)
  if (task.due_at === null) return null
  const title = `${late ? words.overdue : words.fields.due} ${moment(task.due_at)}`
  if (!late)
    return (
      <span title={title}>
        <span className={brief ? '@max-[13rem]:hidden' : 'sm:sr-only'}>{words.fields.due} </span>
        {day(task.due_at)}
      </span>
    )
  const Mark = brief ? State : Badge
  return (
    <Mark icon="clock" title={title} tone="danger">
      <span>{words.overdue} </span>
      {day(task.due_at)}
    </Mark>
  )
}
