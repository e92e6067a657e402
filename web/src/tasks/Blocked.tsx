import { useState } from 'react'
import * as clock from '../app/clock'
import { texts } from '../texts'
import { acting } from '../texts/acting'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import { Icon } from '../ui/Icon'
import { SubmitForm } from '../ui/SubmitForm'
import { useChange } from './change'
import { useDraft } from './drafts'
import type { Task } from './task'

const words = texts.tasks

interface Props {
  task: Task
  blocked: NonNullable<Task['blocked']>
  /** Asks for a decision; undefined for users who may not decide. */
  onDecide: (() => void) | undefined
}

/** Why a task is blocked and since when, with buttons to decide or to unblock it. */
export function Blocked({ task, blocked, onDecide }: Props) {
  const change = useChange()
  const looks = { blocked: null }
  return (
    <div className="flex flex-col gap-1 rounded-md bg-danger-tint px-3 py-2">
      <p className="flex items-center gap-1.5 font-medium text-danger">
        <Icon name="blocked" />
        <span>
          {words.blockedFor} <Age at={blocked.since} />
          {/* Wardroom only recorded it: the reason says whose it is. */}
          {blocked.by && blocked.by !== texts.app.name && <bdi> · {words.blockedBy(blocked.by)}</bdi>}
        </span>
      </p>
      <p className="wrap-anywhere">
        <bdi>{blocked.reason}</bdi>
      </p>
      <div className="mt-1 flex flex-wrap items-center gap-2">
        {onDecide && (
          <Button icon="comment" look="primary" onClick={onDecide}>
            {acting.decide.button}
          </Button>
        )}
        <Button onClick={() => change({ task, body: looks, looks, done: words.changed(task.key) })}>
          {words.unblock}
        </Button>
        {onDecide && (
          <p className="basis-full text-soft text-xs">
            {acting.decide.means} {acting.decide.unblockMeans}
          </p>
        )}
      </div>
    </div>
  )
}

/** A button that asks for a reason and marks the task as blocked. */
export function Block({ task }: { task: Task }) {
  const change = useChange()
  const [reason, write] = useDraft('blocked', task.id)
  const [asking, setAsking] = useState(reason !== '')
  const forget = () => {
    write('')
    setAsking(false)
  }
  if (!asking) {
    return (
      <Button icon="blocked" look="quiet" onClick={() => setAsking(true)}>
        {words.block}
      </Button>
    )
  }
  const block = (reason: string) =>
    change({
      task,
      body: { blocked: { reason } },
      looks: { blocked: { reason, by: '', since: new Date(clock.now()).toISOString() } },
      done: words.changed(task.key),
      onDone: forget,
    })
  return (
    <SubmitForm
      className="basis-full gap-2"
      onCancel={forget}
      onSend={() => reason.trim() && block(reason.trim())}
      submit={words.save}
    >
      <Field
        autoFocus
        label={words.reason}
        maxLength={2000}
        onChange={e => write(e.target.value)}
        required
        value={reason}
      />
    </SubmitForm>
  )
}
