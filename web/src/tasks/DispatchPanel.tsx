import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { WordsForm } from '../acting/WordsForm'
import { api, take } from '../api/client'
import { money } from '../app/format'
import { headline } from '../app/headline'
import { leads, type Person, queries, useMe } from '../app/queries'
import { useStop } from '../sessions/Stop'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Face } from '../ui/Face'
import { type Look, State } from '../ui/State'
import { sessionHref, TextLink } from '../ui/TextLink'
import { say, sayFailed } from '../ui/toast'
import { readAgain } from './change'
import { agentName, isGoing, whyNot } from './dispatch'
import type { Task } from './task'
import { useRun } from './taskSessions'

const words = texts.tasks.dispatch
type Dispatch = NonNullable<Task['dispatch']>

const looks: Record<Dispatch['state'], Look> = {
  queued: { tone: 'idle', icon: 'clock' },
  started: { tone: 'active', icon: 'pulse' },
  ended: { tone: 'done', icon: 'check' },
  failed: { tone: 'danger', icon: 'error' },
}

/** The run on the task that is in progress, why the last one failed, and a button to send the task to its agent. */
export function DispatchPanel({ task, people }: { task: Task; people: ReadonlyMap<string, Person> }) {
  const d = task.dispatch
  const failed = d?.state === 'failed' ? d : null
  const { session, usage } = useRun(task)
  const holder = task.assignee_id ? people.get(task.assignee_id) : undefined
  const runs = isGoing(d) || session !== undefined
  // A person is not sent a task, from Review it goes back to its agent, and a decision sends a blocked one.
  const sends = !runs && task.blocked === null && !/^(review|done)$/.test(task.status) && !(holder && !holder.agent)
  if (!failed && !runs && !sends) return null
  return (
    <section
      aria-label={words.label}
      className={failed || runs ? 'flex min-w-0 basis-full flex-col gap-2' : 'contents'}
    >
      {runs ? (
        <Run people={people} session={session} task={task} usage={usage} />
      ) : (
        failed && <FailedDispatch d={failed} people={people} />
      )}
      {sends && <SendTask again={d !== null} holder={holder} task={task} />}
    </section>
  )
}

interface RunProps extends ReturnType<typeof useRun> {
  task: Task
  people: ReadonlyMap<string, Person>
}

/** A run in progress or queued: its state, duration and cost, the agent's last words, and how to stop it. */
function Run({ task, people, session, usage }: RunProps) {
  const [askStop, question] = useStop()
  const may = leads(useMe().data)
  const d = isGoing(task.dispatch) ? task.dispatch : null
  const state = d?.state ?? 'started'
  const agent = d?.agent_id ?? session?.agent_id ?? ''
  const key = session?.key ?? d?.session_key
  const since = usage?.started_at ?? d?.since ?? session?.updated_at
  const last = headline(session?.last_message ?? null)
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-2 rounded-md border border-line px-3 py-2">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Face agent={agent} name={agentName(agent, people)} />
        <State {...looks[state]}>{words.state[state](agentName(agent, people))}</State>
        <span className="text-soft text-xs">
          {since && <Age at={since} say="for" />}
          {usage?.cost_usd && ` · ${money(usage.cost_usd)}`}
          {key && (
            <>
              {' · '}
              <TextLink className="text-accent underline" href={sessionHref(key)}>
                {texts.tasks.transcript}
              </TextLink>
            </>
          )}
        </span>
      </p>
      {may && d && <CancelDispatch task={task} />}
      {may && !d && session && (
        <Button icon="off" onClick={() => askStop(session)}>
          {words.stop}
        </Button>
      )}
      {(d?.waiting ?? last) && (
        <p className="wrap-anywhere col-span-full line-clamp-2 text-soft">
          <bdi>{d?.waiting ?? last}</bdi>
        </p>
      )}
      {question}
    </div>
  )
}

/** Why the last dispatch failed. */
function FailedDispatch({ d, people }: { d: Dispatch; people: ReadonlyMap<string, Person> }) {
  return (
    <div className="text-xs">
      <p className="flex flex-wrap items-center gap-x-1.5">
        <State {...looks[d.state]}>{words.state[d.state](agentName(d.agent_id, people))}</State>
        <span className="text-soft">
          · <Age at={d.since} say="ago" />
          {' · '}
          <TextLink className="text-accent underline" href={sessionHref(d.session_key)}>
            {texts.tasks.transcript}
          </TextLink>
        </span>
      </p>
      {d.error && (
        <p className="wrap-anywhere text-danger">
          <bdi>{d.error.detail}</bdi>
        </p>
      )}
    </div>
  )
}

/** Cancels the dispatch, which also stops its run. Only for those who may dispatch tasks. */
function CancelDispatch({ task }: { task: Task }) {
  const cache = useQueryClient()
  const back = useMutation({
    mutationFn: () => take(api.DELETE('/api/v1/tasks/{id}/dispatch', { params: { path: { id: task.id } } })),
    onSuccess: () => {
      say(words.takenBack(task.key))
      return readAgain(cache, task)
    },
    onError: err => sayFailed(err, texts.tasks.couldNot(task.key)),
  })
  return (
    <Button busy={back.isPending} icon="off" onClick={() => back.mutate()}>
      {task.dispatch?.state === 'started' ? words.stop : words.takeBack}
    </Button>
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
        look={not === null ? 'primary' : 'plain'}
        onClick={() => setAsking(true)}
      >
        {(again ? words.again : words.send)(holder?.name ?? words.agent)}
      </Button>
      {not && (
        <p className="order-last basis-full text-soft text-xs" id={id}>
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
  const send = async (note: string, key: string) => {
    await take(
      api.POST('/api/v1/tasks/{id}/dispatch', {
        params: { path: { id: task.id } },
        body: note ? { note } : {},
        headers: { 'Idempotency-Key': key },
      }),
    )
    await readAgain(cache, task)
  }
  return (
    <div className="basis-full">
      <WordsForm
        draft={['note', task.id]}
        help={words.noteHelp}
        label={words.note(holder?.name ?? '')}
        onCancel={onEnd}
        onDone={onEnd}
        optional
        send={send}
        submit={words.submit}
      />
    </div>
  )
}
