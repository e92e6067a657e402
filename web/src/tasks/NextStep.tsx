import { ReviewActions } from '../acting/ReviewActions'
import { useTaskDialogs } from '../acting/useTaskDialogs'
import { type Person, useMe } from '../app/queries'
import { Age } from '../ui/Age'
import { Due, nameOf, StatusMark } from './Bits'
import { Blocked } from './Blocked'
import { DispatchPanel } from './DispatchPanel'
import { LatestReport } from './LatestReport'
import type { Task } from './task'

/** Where a task stands, what to do next, and what its agent said last. */
export function NextStep({ task, people }: { task: Task; people: ReadonlyMap<string, Person> }) {
  const [askTask, dialogs] = useTaskDialogs()
  const me = useMe().data
  const onDecide = me && me.role !== 'agent' ? () => askTask('decide', task.key) : undefined
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <StatusMark of={task.status} />
        <span className="text-soft">
          <bdi className="text-ink">{nameOf(task.assignee_id, people)}</bdi> · <Age at={task.moved_at} />
        </span>
        <Due task={task} />
      </p>
      <div className="flex flex-wrap items-start gap-2 empty:hidden">
        {task.status === 'review' && <ReviewActions onSendBack={() => askTask('sendBack', task.key)} task={task} />}
        <Blocked onDecide={onDecide} task={task} />
        <DispatchPanel people={people} task={task} />
      </div>
      <LatestReport people={people} task={task} />
      {dialogs}
    </>
  )
}
