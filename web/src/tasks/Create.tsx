import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { api, newKey, type Schemas, take } from '../api/client'
import { asProblem, type Problem } from '../api/problem'
import { leads, useMe, usePeople } from '../app/queries'
import { texts } from '../texts'
import { receipts } from '../texts/receipts'
import { Button, IconButton } from '../ui/Button'
import { DayField } from '../ui/DayField'
import { DraftDialog } from '../ui/DraftDialog'
import { Field, Select, TextArea } from '../ui/Field'
import { FormActions } from '../ui/SubmitForm'
import { say, sayFailed } from '../ui/toast'
import { noteOwn } from '../ui/useHeldRows'
import { draftOf, dropDraft, keepDraft } from './drafts'
import { dueAt, linesIn, tagsIn } from './fields'
import { PickTask } from './PickTask'
import { projectsQuery, putTask } from './queries'
import type { TaskSearch } from './search'
import { personChoices, priorityChoices, statusChoices, typeChoices } from './taskChoices'

const words = texts.tasks
const criteriaWords = receipts.criteria

interface Props {
  open: boolean
  onClose: () => void
  onCreated: (key: string) => void
  /** Values from the current filters, so that the new task matches them. */
  defaults: TaskSearch
}

/** The dialog for a new task. */
export function Create({ open, onClose, onCreated, defaults }: Props) {
  return (
    <DraftDialog
      drop={() => dropDraft(...draft)}
      field="input[name=title]"
      isBegun={isBegun}
      onClose={onClose}
      open={open}
      words={words}
    >
      {close => <Form defaults={defaults} onClose={close} onCreated={onCreated} />}
    </DraftDialog>
  )
}

// Browser back closes the dialog without asking, so the draft is kept for the next time.
const draft = ['new task', ''] as const
type Name =
  | 'criteria'
  | 'checks'
  | 'title'
  | 'description'
  | 'status'
  | 'assignee'
  | 'priority'
  | 'type'
  | 'project'
  | 'due'
  | 'tags'
  | 'waits'
type Written = Partial<Record<Name, string>>
const written = (): Written => JSON.parse(draftOf(...draft) || '{}') as Written

/** Returns whether the form has input that would be lost. Selections from lists don't count. */
function isBegun(): boolean {
  const { title, description, due, tags, waits, criteria, checks } = written()
  return [title, description, due, tags, waits, criteria, checks].some(text => text?.trim())
}

function keep(form: HTMLFormElement): void {
  const all = Object.fromEntries(Array.from(new FormData(form), ([name, value]) => [name, String(value)]))
  keepDraft(...draft, JSON.stringify(all))
}

/** Sends a new task to its agent. If that fails, the task is kept, and a message says so. */
async function dispatchNew({ id, key }: { id: string; key: string }, agent: string): Promise<void> {
  try {
    const headers = { 'Idempotency-Key': newKey() }
    await take(api.POST('/api/v1/tasks/{id}/dispatch', { params: { path: { id } }, body: {}, headers }))
    say(words.createdAndSent(key, agent))
  } catch (err) {
    sayFailed(err, words.createdNotSent(key))
  }
}

function Form({ onClose, onCreated, defaults }: Omit<Props, 'open'>) {
  const cache = useQueryClient()
  const form = useRef<HTMLFormElement>(null)
  // A retry of the same request sends the same idempotency key.
  const [key, setKey] = useState(newKey)
  const create = useMutation({
    mutationFn: async ({ body, sendTo }: { body: Schemas['TaskNew']; sendTo: string; more: boolean }) => {
      const task = await take(api.POST('/api/v1/tasks', { body, headers: { 'Idempotency-Key': key } }))
      if (sendTo) await dispatchNew(task, sendTo)
      return task
    },
    onSuccess: (task, { more, sendTo }) => {
      noteOwn(task.id)
      putTask(cache, task)
      if (!sendTo) say(words.created(task.key))
      setKey(newKey())
      dropDraft(...draft)
      if (!more) return onCreated(task.key)
      const title = form.current?.elements.namedItem('title')
      if (title instanceof HTMLInputElement) {
        title.value = ''
        title.focus()
      }
    },
    // A refused request created nothing, and a changed body needs a new key.
    onError: err => asProblem(err).status > 0 && setKey(newKey()),
  })
  const problem = create.error ? asProblem(create.error) : null
  const send = (more: boolean) => {
    if (!form.current?.reportValidity()) return
    const data = new FormData(form.current)
    const text = (name: string) => String(data.get(name) ?? '').trim()
    const assignee = text('assignee')
    const description = text('description')
    const project = text('project')
    const due = dueAt(text('due'))
    const tags = tagsIn(text('tags'))
    const waits = tagsIn(text('waits'))
    const criteria = linesIn(text('criteria'))
    const checks = linesIn(text('checks'))
    create.mutate({
      more,
      sendTo: text('sendTo'),
      body: {
        title: text('title'),
        status: text('status') as Schemas['TaskNew']['status'] & string,
        priority: text('priority') as Schemas['TaskNew']['priority'] & string,
        type: text('type') as Schemas['TaskNew']['type'] & string,
        ...(description ? { description } : {}),
        ...(assignee ? { assignee_id: assignee } : {}),
        ...(project ? { project_id: project } : {}),
        ...(due ? { due_at: due } : {}),
        ...(tags.length > 0 ? { tags } : {}),
        ...(waits.length > 0 ? { depends_on: waits } : {}),
        ...(criteria.length > 0 ? { criteria: criteria.map(text => ({ text })) } : {}),
        ...(checks.length > 0 ? { checks } : {}),
      },
    })
  }
  const f = words.fields
  const [was] = useState(() => {
    const { new: title } = defaults
    return { ...written(), ...(title && title !== '1' ? { title } : {}) }
  })
  return (
    <form
      ref={form}
      className="flex flex-col gap-3"
      onChange={e => keep(e.currentTarget)}
      onSubmit={e => {
        e.preventDefault()
        send(false)
      }}
    >
      <Field
        autoComplete="off"
        autoFocus
        defaultValue={was.title}
        error={problem?.of('title')}
        label={words.titleRequired}
        maxLength={500}
        name="title"
        required
      />
      <TextArea
        error={problem?.of('description')}
        help={words.markdown}
        defaultValue={was.description}
        label={f.description}
        name="description"
        rows={3}
      />
      <Choices defaults={defaults} problem={problem} was={was} />
      {problem && problem.fields.length === 0 && (
        <p className="text-danger" role="alert">
          {problem.message}
        </p>
      )}
      <FormActions busy={create.isPending} onCancel={onClose} submit={words.createSubmit}>
        <Button busy={create.isPending} className="max-sm:hidden" onClick={() => send(true)}>
          {words.createMore}
        </Button>
      </FormActions>
    </form>
  )
}

interface ChoicesProps {
  defaults: TaskSearch
  was: Written
  problem: Problem | null
}

/** The fields besides the texts. Those that few tasks need are folded, unless they have a value. */
function Choices({ defaults, was, problem }: ChoicesProps) {
  const me = useMe().data
  const people = usePeople()
  const f = words.fields
  const team = [...people.values()].filter(p => p.active)
  const preset = team.find(
    p => p.agent === defaults.assignee || p.id === defaults.assignee || (defaults.assignee === 'me' && p.id === me?.id),
  )?.id
  const [picked, setPicked] = useState(was.assignee)
  const holder = people.get(picked ?? preset ?? '')
  return (
    <>
      <div className="grid grid-cols-2 gap-3">
        <Select
          key={preset ?? ''} // the names may load after the dialog opens
          choices={[{ value: '', label: words.unassigned }, ...personChoices(team)]}
          defaultValue={was.assignee ?? preset ?? ''}
          error={problem?.of('assignee_id')}
          label={f.assignee}
          name="assignee"
          onChange={e => setPicked(e.target.value)}
        />
        <Select
          choices={statusChoices.filter(s => s.value !== 'done')}
          defaultValue={was.status ?? only(defaults.status) ?? 'todo'}
          error={problem?.of('status')}
          label={f.status}
          name="status"
        />
        <Select
          choices={priorityChoices}
          defaultValue={was.priority ?? only(defaults.priority) ?? 'medium'}
          label={f.priority}
          name="priority"
        />
        <DueField chosen={was.due} error={problem?.of('due_at')} />
      </div>
      {holder?.agent && leads(me) && (
        <label className="flex min-h-6 w-fit items-center gap-2">
          <input className="size-4 accent-accent" key={holder.id} name="sendTo" type="checkbox" value={holder.name} />
          {words.sendNow(holder.name)}
        </label>
      )}
      <MoreChoices defaults={defaults} problem={problem} was={was} />
    </>
  )
}

/** Returns the only value of a filter. */
const only = (list: string | undefined) => (list && !list.includes(',') ? list : undefined)

function MoreChoices({ defaults, was, problem }: ChoicesProps) {
  const f = words.fields
  const wrong = ['project_id', 'tags', 'depends_on', 'criteria', 'checks'].some(name => problem?.of(name))
  return (
    <details open={wrong || [was.tags, was.waits, was.criteria, was.checks].some(Boolean)}>
      <summary className="w-fit cursor-pointer text-soft hover:text-ink">{words.moreFields}</summary>
      <div className="mt-2 grid grid-cols-2 gap-3">
        <Select
          choices={typeChoices}
          defaultValue={was.type ?? only(defaults.type) ?? 'task'}
          label={f.type}
          name="type"
        />
        <ProjectChoice chosen={was.project ?? defaults.project} error={problem?.of('project_id')} />
        <Field
          className="nth-[3]:col-span-full"
          defaultValue={was.tags}
          error={problem?.of('tags')}
          help={words.tagsHelp}
          label={f.tags}
          name="tags"
        />
        <TextArea
          defaultValue={was.criteria}
          error={problem?.of('criteria')}
          help={criteriaWords.help}
          label={criteriaWords.title}
          name="criteria"
          rows={2}
        />
        <TextArea
          defaultValue={was.checks}
          error={problem?.of('checks')}
          help={criteriaWords.checksHelp}
          label={criteriaWords.checks}
          name="checks"
          rows={2}
        />
        <WaitsField chosen={was.waits} error={problem?.of('depends_on')} />
      </div>
    </details>
  )
}

/** The unfinished tasks that block the new one. */
function WaitsField({ chosen, error }: { chosen: string | undefined; error: string | undefined }) {
  const [keys, setKeys] = useState(() => tagsIn(chosen ?? ''))
  return (
    <div className="col-span-full flex flex-col gap-1">
      <span aria-hidden="true" className="font-medium text-soft text-xs">
        {words.dependsOn}
      </span>
      {keys.length > 0 && (
        <ul className="flex flex-wrap gap-1">
          {keys.map(k => (
            <li key={k} className="key hairline flex h-8 items-center rounded-md pl-2">
              {k}
              <IconButton icon="close" label={words.untie(k)} onClick={() => setKeys(keys.filter(o => o !== k))} />
            </li>
          ))}
        </ul>
      )}
      <PickTask busy={false} label={words.addDependency} not={keys} onPick={t => setKeys([...keys, t.key])} />
      {error && (
        <p className="text-danger text-xs" role="alert">
          {error}
        </p>
      )}
      <FormText name="waits" value={keys.join()} />
    </div>
  )
}

/** A value of the form that has no field of its own, kept in the draft when it changes. */
function FormText({ name, value }: { name: Name; value: string }) {
  const input = useRef<HTMLInputElement>(null)
  const kept = useRef(value)
  useEffect(() => {
    if (kept.current === value || !input.current?.form) return
    kept.current = value
    keep(input.current.form)
  }, [value])
  return <input ref={input} name={name} type="hidden" value={value} />
}

/** The day by which the new task is due. */
function DueField({ chosen = '', error }: { chosen: string | undefined; error: string | undefined }) {
  const [due, setDue] = useState(chosen)
  return (
    <div>
      <DayField
        error={error}
        label={words.fields.due}
        onPick={day => setDue(day ?? '')}
        placeholder={words.noDue}
        value={due}
      />
      <FormText name="due" value={due} />
    </div>
  )
}

/** The project of the new task, given by its ID or key; nothing if there are no projects. */
function ProjectChoice({ chosen, error }: { chosen: string | undefined; error: string | undefined }) {
  const projects = useQuery(projectsQuery).data
  if (!projects || projects.length === 0) return null
  return (
    <Select
      choices={[{ value: '', label: words.noProject }, ...projects.map(p => ({ value: p.id, label: p.name }))]}
      defaultValue={projects.find(p => p.id === chosen || p.key === chosen)?.id ?? ''}
      error={error}
      label={words.fields.project}
      name="project"
    />
  )
}
