import { ReviewActions } from '../acting/ReviewActions'
import { useTaskDialogs } from '../acting/useTaskDialogs'
import { type Person, useMe } from '../app/queries'
import { Waiting } from '../approvals/Waiting'
import { taskOf } from '../inbox/item'
import { useFitting } from '../inbox/useItems'
import { ReceiptOf } from '../receipts/Receipt'
import { texts } from '../texts'
import { acting } from '../texts/acting'
import { Button } from '../ui/Button'
import { Due, Holder, StatusMark } from './Bits'
import { Block, Blocked } from './Blocked'
import { DispatchPanel } from './DispatchPanel'
import { costOf, isGoing } from './dispatch'
import { LatestReport } from './LatestReport'
import type { Task } from './task'

/** Where a task stands, unless its fields are beside it, what to do next, and what its agent said last. */
export function NextStep({ task, people }: { task: Task; people: ReadonlyMap<string, Person> }) {
  const [askTask, dialogs] = useTaskDialogs()
  const me = useMe().data
  const onDecide = me && me.role !== 'agent' ? () => askTask('decide', task.key) : undefined
  const cost = costOf(task)
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-soft @min-[40rem]:hidden">
        <StatusMark of={task.status} />
        <Holder of={task.assignee_id} people={people} />
        <Due brief task={task} />
        {cost && <span title={texts.tasks.cost}>{cost}</span>}
      </div>
      <Waiting about={{ task: task.key }} />
      {task.blocked && <Blocked blocked={task.blocked} onDecide={onDecide} task={task} />}
      <div className="flex flex-wrap items-start gap-2 empty:hidden">
        {!task.blocked && onDecide && <Escalated onDecide={onDecide} task={task.key} />}
        {task.status === 'review' && <ReviewActions onSendBack={() => askTask('sendBack', task.key)} task={task} />}
        <DispatchPanel people={people} task={task} />
        {!task.blocked && task.status !== 'done' && task.status !== 'review' && !isGoing(task.dispatch) && (
          <Block task={task} />
        )}
      </div>
      <div className="rounded-md border border-line px-3 py-2 empty:hidden">
        <LatestReport people={people} task={task} />
      </div>
      <ReceiptOf task={task.key} />
      {dialogs}
    </>
  )
}

const escalations = { kind: 'escalation,old_blocker', state: 'open,acked,snoozed' }

/** A button to decide, if an unresolved escalation names the task. */
function Escalated({ task, onDecide }: { task: string; onDecide: () => void }) {
  const { fitting } = useFitting(escalations)
  return (
    fitting?.some(i => taskOf(i) === task) && (
      <Button icon="comment" look="primary" onClick={onDecide}>
        {acting.decide.button}
      </Button>
    )
  )
}
