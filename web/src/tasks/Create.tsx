import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { api, newKey, type Schemas, take } from '../api/client'
import { asProblem, type Problem } from '../api/problem'
import { useMe, usePeople } from '../app/queries'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { DayField } from '../ui/DayField'
import { DraftDialog } from '../ui/DraftDialog'
import { Field, Select, TextArea } from '../ui/Field'
import { FormActions } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { noteOwn } from '../ui/useHeldRows'
import { draftOf, dropDraft, keepDraft } from './drafts'
import { eveningOf, tagsIn } from './FactFields'
import { projectsQuery, putTask } from './queries'
import type { TaskSearch } from './search'
import { priorities, statuses, types } from './task'

const words = texts.tasks

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
type Name = 'title' | 'description' | 'status' | 'assignee' | 'priority' | 'type' | 'project' | 'due' | 'tags'
type Written = Partial<Record<Name, string>>
const written = (): Written => JSON.parse(draftOf(...draft) || '{}') as Written

/** Returns whether the form has text that would be lost. Selections don't count. */
function isBegun(): boolean {
  const { title, description } = written()
  return Boolean(title?.trim() || description?.trim())
}

function keep(form: HTMLFormElement): void {
  const all = Object.fromEntries(Array.from(new FormData(form), ([name, value]) => [name, String(value)]))
  keepDraft(...draft, JSON.stringify(all))
}

function Form({ onClose, onCreated, defaults }: Omit<Props, 'open'>) {
  const cache = useQueryClient()
  const form = useRef<HTMLFormElement>(null)
  // A retry of the same request sends the same idempotency key.
  const [key, setKey] = useState(newKey)
  const create = useMutation({
    mutationFn: ({ body }: { body: Schemas['TaskNew']; more: boolean }) =>
      take(api.POST('/api/v1/tasks', { body, headers: { 'Idempotency-Key': key } })),
    onSuccess: (task, { more }) => {
      noteOwn(task.id)
      putTask(cache, task)
      say(words.created(task.key))
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
    const due = eveningOf(text('due'))
    const tags = tagsIn(text('tags'))
    create.mutate({
      more,
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
      },
    })
  }
  const f = words.fields
  const [was] = useState(written)
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
        label={f.title}
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
        rows={4}
      />
      <Choices defaults={defaults} problem={problem} was={was} />
      {problem && problem.fields.length === 0 && (
        <p className="text-danger" role="alert">
          {problem.message}
        </p>
      )}
      <FormActions busy={create.isPending} onCancel={onClose} submit={words.createSubmit}>
        <Button busy={create.isPending} onClick={() => send(true)}>
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

/** The fields besides the texts. */
function Choices({ defaults, was, problem }: ChoicesProps) {
  const me = useMe().data
  const people = usePeople()
  const f = words.fields
  const only = (list: string | undefined) => (list && !list.includes(',') ? list : undefined)
  const team = [...people.values()].filter(p => p.active)
  const preset = team.find(
    p => p.agent === defaults.assignee || p.id === defaults.assignee || (defaults.assignee === 'me' && p.id === me?.id),
  )?.id
  return (
    <div className="grid grid-cols-1 gap-3 min-[26rem]:grid-cols-2">
      <Select
        choices={statuses.filter(s => s !== 'done').map(s => ({ value: s, label: words.status[s] }))}
        defaultValue={was.status ?? only(defaults.status) ?? 'todo'}
        error={problem?.of('status')}
        label={f.status}
        name="status"
      />
      <Select
        choices={[{ value: '', label: words.unassigned }, ...team.map(p => ({ value: p.id, label: p.name }))]}
        defaultValue={was.assignee ?? preset ?? ''}
        error={problem?.of('assignee_id')}
        label={f.assignee}
        name="assignee"
      />
      <Select
        choices={priorities.map(p => ({ value: p, label: words.priority[p] }))}
        defaultValue={was.priority ?? only(defaults.priority) ?? 'medium'}
        label={f.priority}
        name="priority"
      />
      <Select
        choices={types.map(t => ({ value: t, label: words.type[t] }))}
        defaultValue={was.type ?? only(defaults.type) ?? 'task'}
        label={f.type}
        name="type"
      />
      <DueField chosen={was.due} error={problem?.of('due_at')} />
      <ProjectChoice chosen={was.project ?? defaults.project} error={problem?.of('project_id')} />
      <Field
        className="nth-[7]:col-span-full"
        defaultValue={was.tags}
        error={problem?.of('tags')}
        help={words.tagsHelp}
        label={f.tags}
        name="tags"
      />
    </div>
  )
}

/** The day by which the new task is due. */
function DueField({ chosen = '', error }: { chosen: string | undefined; error: string | undefined }) {
  const [due, setDue] = useState(chosen)
  return (
    <div>
      <DayField error={error} label={words.fields.due} onPick={day => setDue(day ?? '')} value={due} />
      <input name="due" type="hidden" value={due} />
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
