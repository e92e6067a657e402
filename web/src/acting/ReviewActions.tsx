import { useMe } from '../app/queries'
import type { Task } from '../tasks/task'
import { acting } from '../texts/acting'
import { Button } from '../ui/Button'
import { type Reviewed, useApprove } from './useApprove'
import { useWhyNotReview } from './useWhyNotReview'

interface Props {
  task: Reviewed & Partial<Pick<Task, 'dispatch' | 'waiting_on'>>
  onSendBack: () => void
  /** Set where Approve is not the main action of the screen. */
  quiet?: boolean
}

/** The buttons of a task in Review. */
export function ReviewActions({ task, onSendBack, quiet = false }: Props) {
  const approve = useApprove()
  const not = useWhyNotReview()(task)
  const me = useMe().data
  if (!me || me.role === 'agent') return null
  return (
    <>
      <Button
        aria-label={acting.of(acting.approve.button, task.key)}
        not={not}
        busy={approve.isPending}
        icon="check"
        look={quiet ? 'plain' : 'primary'}
        onClick={() => approve.mutate(task)}
      >
        {acting.approve.button}
      </Button>
      <Button aria-label={acting.of(acting.sendBack.button, task.key)} not={not} onClick={onSendBack}>
        {acting.sendBack.button}
      </Button>
    </>
  )
}

/** The button to decide about a blocked task, for users who may. */
export function DecideButton({ task, onDecide }: { task: string; onDecide: () => void }) {
  const me = useMe().data
  if (!me || me.role === 'agent') return null
  return (
    <Button aria-label={acting.of(acting.decide.button, task)} icon="comment" onClick={onDecide}>
      {acting.decide.button}
    </Button>
  )
}
