import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { api, take } from '../api/client'
import { queries, useMe, usePeople } from '../app/queries'
import { isGoing, whyNot } from '../tasks/dispatch'
import { oneQuery, putTask } from '../tasks/queries'
import type { Task } from '../tasks/task'
import { texts } from '../texts'
import { acting } from '../texts/acting'
import { Age } from '../ui/Age'
import { say } from '../ui/toast'
import { Answer, Skeleton } from '../ui/Views'
import { WordsForm } from './WordsForm'

const words = acting.decide

interface Props {
  /** The key or ID of the task. */
  task: string
  onDone: () => void
}

/** Asks for a decision about a task. It becomes a comment, and can unblock the task and send it to its agent. */
export function Decide({ task: key, onDone }: Props) {
  const asked = useQuery(oneQuery(key))
  return (
    <Answer of={asked} rows={3} what={key}>
      {task => <DecideForm onDone={onDone} task={task} />}
    </Answer>
  )
}

interface Sending {
  agent: string | null
  not: string | null
  /** Whether the agents or the state of the gateway aren't loaded yet. */
  asking: boolean
}

/** Returns the agent of a task, and why the task can't be sent to it now, or null. */
function useSending(task: Task): Sending {
  const people = usePeople()
  const me = useMe().data
  const { data: gateway, isPending } = useQuery(queries.gateway)
  const { isPending: naming } = useQuery(queries.agents)
  if (isPending || naming) return { agent: null, not: null, asking: true }
  const holder = task.assignee_id ? people.get(task.assignee_id) : undefined
  if (!holder?.agent || task.status === 'done') return { agent: null, not: null, asking: false }
  const not = isGoing(task.dispatch) ? words.isGoing(holder.name) : whyNot(task, { me, gateway, holder })
  return { agent: holder.name, not, asking: false }
}

function DecideForm({ task, onDone }: { task: Task; onDone: () => void }) {
  const cache = useQueryClient()
  const { agent, not, asking } = useSending(task)
  const [unblocks, setUnblocks] = useState(true)
  const [sends, setSends] = useState(true)
  const unblock = task.blocked !== null && unblocks
  const dispatch = agent !== null && not === null && sends
  const send = async (text: string, key: string) => {
    const decided = await take(
      api.POST('/api/v1/tasks/{id}/decide', {
        params: { path: { id: task.id } },
        body: { text, unblock: unblocks, dispatch },
        headers: { 'Idempotency-Key': key },
      }),
    )
    putTask(cache, decided)
    say(words.done(task.key, unblock, dispatch ? agent : null))
  }
  // Else an early answer would not be sent to the agent.
  if (asking) return <Skeleton label={`${texts.ui.loading} ${task.key}`} />
  return (
    <>
      <About task={task} />
      <WordsForm
        draft={['decision', task.id]}
        help={words.help(task.key)}
        label={words.label}
        onCancel={onDone}
        onDone={onDone}
        send={send}
        submit={words.submit}
      >
        {task.blocked && (
          <Check
            checked={unblocks}
            help={unblocks ? undefined : words.staysBlocked}
            label={words.unblock(task.key)}
            onChange={setUnblocks}
          />
        )}
        {agent && (
          <Check
            checked={dispatch}
            disabled={not !== null}
            help={not ?? undefined}
            label={words.send(agent)}
            onChange={setSends}
          />
        )}
      </WordsForm>
    </>
  )
}

/** The title of the task and why it is blocked. */
const About = ({ task }: { task: Task }) => (
  <div className="wrap-anywhere mb-3">
    <p className="font-medium">
      <bdi>{task.title}</bdi>
    </p>
    {task.blocked && (
      <p className="mt-1 text-soft">
        {texts.tasks.blockedFor} <Age at={task.blocked.since} />: <bdi className="text-ink">{task.blocked.reason}</bdi>
      </p>
    )}
  </div>
)

interface CheckProps {
  label: string
  checked: boolean
  disabled?: boolean
  help?: string | undefined
  onChange: (checked: boolean) => void
}

/** A checkbox with a help text. */
function Check({ label, checked, disabled = false, help, onChange }: CheckProps) {
  const id = useId()
  return (
    <div>
      <label className={`flex min-h-6 items-center gap-2 pointer-coarse:min-h-10 ${disabled ? 'text-soft' : ''}`}>
        <input
          aria-describedby={help ? id : undefined}
          checked={checked}
          className="size-4 accent-accent"
          disabled={disabled}
          onChange={e => onChange(e.target.checked)}
          type="checkbox"
        />
        {label}
      </label>
      {help && (
        <p className="ml-6 text-soft text-xs" id={id}>
          {help}
        </p>
      )}
    </div>
  )
}
