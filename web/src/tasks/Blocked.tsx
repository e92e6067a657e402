import { useState } from 'react'
import * as clock from '../app/clock'
import { texts } from '../texts'
import { acting } from '../texts/acting'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import { Icon } from '../ui/Icon'
import { useChange } from './change'
import { useDraft } from './drafts'
import type { Task } from './task'

const words = texts.tasks

interface Props {
  task: Task
  /** Asks for a decision; undefined for users who may not decide. */
  onDecide: (() => void) | undefined
}

/** Why a task is blocked and since when, with buttons to decide or to unblock it; or a form to mark it as blocked. */
export function Blocked({ task, onDecide }: Props) {
  const change = useChange()
  const [reason, write] = useDraft('blocked', task.id)
  const [asking, setAsking] = useState(reason !== '')
  const forget = () => {
    write('')
    setAsking(false)
  }
  const set = (blocked: Task['blocked'], onDone?: () => void) =>
    change({
      task,
      body: { blocked: blocked ? { reason: blocked.reason } : null },
      looks: { blocked },
      done: words.changed(task.key),
      ...(onDone ? { onDone } : {}),
    })
  if (task.blocked) {
    return (
      <div className="flex basis-full flex-col gap-1 rounded-md bg-danger-tint px-3 py-2">
        <p className="flex items-center gap-1.5 font-medium text-danger">
          <Icon name="blocked" />
          <span>
            {words.blockedFor} <Age at={task.blocked.since} />
            {task.blocked.by && <bdi> · {words.blockedBy(task.blocked.by)}</bdi>}
          </span>
        </p>
        <p className="wrap-anywhere">
          <bdi>{task.blocked.reason}</bdi>
        </p>
        <div className="mt-1 flex flex-wrap gap-2">
          {onDecide && (
            <Button icon="comment" look="primary" onClick={onDecide}>
              {acting.decide.button}
            </Button>
          )}
          <Button onClick={() => set(null)}>{words.unblock}</Button>
        </div>
      </div>
    )
  }
  if (task.status === 'done' || task.status === 'review') return null
  if (!asking) {
    return (
      <Button className="self-start" icon="blocked" onClick={() => setAsking(true)}>
        {words.block}
      </Button>
    )
  }
  return (
    <form
      className="flex basis-full flex-wrap items-end gap-2"
      onSubmit={e => {
        e.preventDefault()
        if (!reason.trim()) return
        set({ reason: reason.trim(), by: '', since: new Date(clock.now()).toISOString() }, forget)
      }}
    >
      <Field
        autoFocus
        className="grow"
        label={words.reason}
        maxLength={2000}
        onChange={e => write(e.target.value)}
        required
        value={reason}
      />
      <Button look="quiet" onClick={forget}>
        {texts.ui.cancel}
      </Button>
      <Button look="primary" type="submit">
        {words.save}
      </Button>
    </form>
  )
}
