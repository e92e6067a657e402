import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { api, newKey, take } from '../api/client'
import { asProblem } from '../api/problem'
import { leads, type Person, queries, useMe } from '../app/queries'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { TextArea } from '../ui/Field'
import { type Look, State } from '../ui/State'
import { SubmitForm } from '../ui/SubmitForm'
import { sessionHref, TextLink } from '../ui/TextLink'
import { say } from '../ui/toast'
import { readAgain } from './change'
import { agentName, isGoing, whyNot } from './dispatch'
import { dropDraft, useDraft } from './drafts'
import type { Task } from './task'

const words = texts.tasks.dispatch
type Dispatch = NonNullable<Task['dispatch']>

const looks: Record<Dispatch['state'], Look> = {
  queued: { tone: 'idle', icon: 'clock' },
  started: { tone: 'active', icon: 'pulse' },
  ended: { tone: 'done', icon: 'check' },
  failed: { tone: 'danger', icon: 'error' },
}

/** Sends the task to its agent, and shows the progress. */
export function DispatchPanel({ task, people }: { task: Task; people: ReadonlyMap<string, Person> }) {
  const d = task.dispatch
  const holder = task.assignee_id ? people.get(task.assignee_id) : undefined
  // A done task that was never sent has nothing to show.
  if (!d && task.status === 'done') return null
  return (
    <section aria-label={words.label} className="flex min-w-0 flex-col gap-2 has-[form]:basis-full">
      {d && <DispatchState d={d} people={people} />}
      {isGoing(d) ? <CancelDispatch task={task} /> : <SendTask again={d !== null} holder={holder} task={task} />}
    </section>
  )
}

/** The state of the dispatch, and why it is waiting or failed. */
function DispatchState({ d, people }: { d: Dispatch; people: ReadonlyMap<string, Person> }) {
  const why = d.waiting ?? d.error?.detail
  return (
    <div className="text-xs">
      <p className="flex flex-wrap items-center gap-x-1.5">
        <State {...looks[d.state]}>{words.state[d.state](agentName(d.agent_id, people))}</State>
        <span className="text-soft">
          · <Age at={d.since} />
          {' · '}
          <TextLink className="text-accent underline" href={sessionHref(d.session_key)}>
            {words.session}
          </TextLink>
        </span>
      </p>
      {why && (
        <p className={`wrap-anywhere ${d.error ? 'text-danger' : 'text-soft'}`}>
          <bdi>{why}</bdi>
        </p>
      )}
    </div>
  )
}

function Refusal({ error }: { error: unknown }) {
  if (!error) return null
  return (
    <p className="text-danger text-xs" role="alert">
      {asProblem(error).message}
    </p>
  )
}

function CancelDispatch({ task }: { task: Task }) {
  const cache = useQueryClient()
  const id = useId()
  const may = leads(useMe().data)
  const back = useMutation({
    mutationFn: () => take(api.DELETE('/api/v1/tasks/{id}/dispatch', { params: { path: { id: task.id } } })),
    onSuccess: () => {
      say(words.takenBack(task.key))
      return readAgain(cache, task)
    },
  })
  return (
    <>
      <Button
        aria-describedby={may ? undefined : id}
        busy={back.isPending}
        className="self-start"
        disabled={!may}
        icon="close"
        onClick={() => back.mutate()}
      >
        {words.takeBack}
      </Button>
      {!may && (
        <p className="text-soft text-xs" id={id}>
          {words.onlyLeads}
        </p>
      )}
      <Refusal error={back.error} />
    </>
  )
}

function SendTask({ task, holder, again }: { task: Task; holder: Person | undefined; again: boolean }) {
  const id = useId()
  const [asking, setAsking] = useState(false)
  const not = whyNot(task, { me: useMe().data, gateway: useQuery(queries.gateway).data, holder })
  if (asking && not === null) return <SendForm holder={holder} onEnd={() => setAsking(false)} task={task} />
  return (
    <>
      <Button
        aria-describedby={not ? id : undefined}
        className="self-start"
        disabled={not !== null}
        icon="agents"
        onClick={() => setAsking(true)}
      >
        {(again ? words.again : words.send)(holder?.name ?? words.agent)}
      </Button>
      {not && (
        <p className="text-soft text-xs" id={id}>
          {not}
          {not === words.noGateway && (
            <>
              {' '}
              <TextLink className="text-accent underline" href="/settings/gateway">
                {texts.app.places.settings}
              </TextLink>
            </>
          )}
        </p>
      )}
    </>
  )
}

/** Confirms the dispatch, which costs tokens, and asks for a note. */
function SendForm({ task, holder, onEnd }: { task: Task; holder: Person | undefined; onEnd: () => void }) {
  const cache = useQueryClient()
  const [note, setNote] = useDraft('note', task.id)
  // A retry of the same request sends the same idempotency key.
  const [key, setKey] = useState(newKey)
  const hand = useMutation({
    mutationFn: () =>
      take(
        api.POST('/api/v1/tasks/{id}/dispatch', {
          params: { path: { id: task.id } },
          body: note.trim() ? { note: note.trim() } : {},
          headers: { 'Idempotency-Key': key },
        }),
      ),
    onSuccess: async () => {
      dropDraft('note', task.id)
      await readAgain(cache, task)
      onEnd()
    },
    onError: err => asProblem(err).status > 0 && setKey(newKey()),
  })
  return (
    <SubmitForm
      busy={hand.isPending}
      className="gap-2"
      onCancel={onEnd}
      onSend={() => !hand.isPending && hand.mutate()}
      submit={words.submit}
    >
      <TextArea
        autoFocus
        help={words.noteHelp}
        label={words.note(holder?.name ?? '')}
        maxLength={4000}
        onChange={e => setNote(e.target.value)}
        rows={2}
        value={note}
      />
      <Refusal error={hand.error} />
    </SubmitForm>
  )
}
