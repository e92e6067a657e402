import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { useZone } from '../app/config'
import { moment, span, unknown } from '../app/format'
import type { Person } from '../app/queries'
import { jobQuery } from '../schedules/queries'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { DayField } from '../ui/DayField'
import { Field, Select } from '../ui/Field'
import { Icon } from '../ui/Icon'
import { sessionHref, TextLink } from '../ui/TextLink'
import { PriorityMark } from './Bits'
import { useChange } from './change'
import { costOf, tokensOf } from './dispatch'
import { dueAt, dueDay, tagsIn } from './fields'
import { Relations } from './Relations'
import type { Task } from './task'
import { personChoices, priorityChoices, statusChoicesOf, typeChoices, useProjectChoices } from './taskChoices'

const words = texts.tasks
const f = words.fields

interface Props {
  task: Task
  people: ReadonlyMap<string, Person>
  onOpen: (key: string) => void
}

/** The fields of a task, each edited in place. Beside the activity if there is room, folded above it otherwise. */
export function Facts({ task, people, onOpen }: Props) {
  const id = useId()
  const [open, setOpen] = useState(false)
  return (
    <section
      aria-label={words.details}
      className="flex flex-col gap-3 @min-[40rem]:col-start-2 @min-[40rem]:row-span-2 @min-[40rem]:row-start-1"
    >
      <button
        aria-controls={id}
        aria-expanded={open}
        className="hairline flex min-h-9 items-center gap-2 rounded-md px-3 text-left @min-[40rem]:hidden"
        onClick={() => setOpen(!open)}
        type="button"
      >
        <span className="font-medium">{words.details}</span>
        <span className="flex min-w-0 grow items-center gap-2 truncate text-soft text-xs">
          <PriorityMark of={task.priority} />
        </span>
        <Icon className={open ? 'rotate-180' : ''} name="chevron" />
      </button>
      <div className={`flex-col gap-4 @min-[40rem]:flex ${open ? 'flex' : 'hidden'}`} id={id}>
        <Fields people={people} task={task} />
        <Relations onOpen={onOpen} task={task} />
        <Origin people={people} task={task} />
      </div>
    </section>
  )
}

function Fields({ task, people }: Omit<Props, 'onOpen'>) {
  const change = useChange()
  const projects = useProjectChoices(task.project_id)
  const team = [...people.values()].filter(p => p.active || p.id === task.assignee_id)
  const set = (part: Partial<Task>) =>
    change({ task, body: part as Record<string, never>, looks: part, done: words.changed(task.key) })
  const pick = (field: 'status' | 'assignee_id' | 'priority' | 'type' | 'project_id') => ({
    onChange: (e: { target: { value: string } }) => set({ [field]: e.target.value || null }),
    value: task[field] ?? '',
  })
  const zone = useZone()
  const unknownHolder = task.assignee_id !== null && !people.has(task.assignee_id)
  return (
    <div className="field-rows flex flex-col">
      <Select {...pick('status')} choices={statusChoicesOf(task)} label={f.status} />
      <Select
        {...pick('assignee_id')}
        choices={[
          { value: '', label: words.unassigned },
          ...(unknownHolder ? [{ value: task.assignee_id ?? '', label: words.somebody }] : []),
          ...personChoices(team),
        ]}
        label={f.assignee}
      />
      <Select {...pick('priority')} choices={priorityChoices} label={f.priority} />
      <Select {...pick('type')} choices={typeChoices} label={f.type} />
      <DayField
        label={f.due}
        onPick={day => {
          const due_at = dueAt(day ?? '')
          if (due_at !== undefined) set({ due_at })
        }}
        placeholder={words.noDue}
        value={task.due_at ? dueDay(task.due_at, zone) : ''}
      />
      {projects && <Select {...pick('project_id')} choices={projects} label={f.project} />}
      <TagsField onPick={tags => set({ tags })} task={task} />
    </div>
  )
}

/** The tags. Changes by others don't touch the input. */
function TagsField({ task, onPick }: { task: Task; onPick: (tags: string[]) => void }) {
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <Field
      label={f.tags}
      onBlur={() => {
        if (typed !== null) {
          const tags = tagsIn(typed)
          if (tags.join() !== (task.tags ?? []).join()) onPick(tags)
        }
        setTyped(null)
      }}
      onChange={e => setTyped(e.target.value)}
      onKeyDown={e => e.key === 'Enter' && e.currentTarget.blur()}
      placeholder={words.noTags}
      title={words.tagsHelp}
      value={typed ?? task.tags?.join(', ') ?? ''}
    />
  )
}

/** Where a task comes from, its cost, and where its work is. */
function Origin({ task, people }: Omit<Props, 'onOpen'>) {
  const cost = costOf(task)
  const used = tokensOf(task.tokens)
  return (
    <div className="flex flex-col gap-1 text-soft text-xs">
      {(cost ?? used) !== null && (
        <p title={used?.parts}>
          {words.cost} <span className="text-ink">{cost ?? unknown}</span>
          {used && ` · ${used.sum} ${words.tokens}`}
        </p>
      )}
      <p>
        {words.inStatusFor(words.status[task.status])} <Age at={task.moved_at} />
      </p>
      {task.started_at && task.status !== 'todo' && task.status !== 'backlog' && (
        <p>
          {f.started} <Age at={task.started_at} /> {words.ago}
          {task.done_at && `, ${words.took(span(Date.parse(task.done_at) - Date.parse(task.started_at)))}`}
        </p>
      )}
      <p>
        {f.created} <Age at={task.created_at} /> {words.ago}
        {task.reporter_id && ` ${words.by} ${people.get(task.reporter_id)?.name ?? words.somebody}`}
      </p>
      {task.origin?.startsWith('job:') && <FromSchedule id={task.origin.slice('job:'.length)} />}
      {task.claim && <p>{words.claimedUntil(task.claim.name, moment(task.claim.expires_at))}</p>}
      {task.branch && (
        <p>
          {f.branch} <bdi className="key wrap-anywhere">{task.branch}</bdi>
        </p>
      )}
      {task.session_key && (
        <TextLink href={sessionHref(task.session_key)} title={task.session_key}>
          {f.session}
        </TextLink>
      )}
      {task.pr_url && <PullRequest url={task.pr_url} />}
    </div>
  )
}

/** A link to the scheduled job whose run made the task. Until its name is known, it shows the ID. */
function FromSchedule({ id }: { id: string }) {
  const job = useQuery({ ...jobQuery(id), retry: false }).data
  return (
    <p>
      {f.fromSchedule}{' '}
      <TextLink className="wrap-anywhere text-accent hover:underline" href={`/schedules?job=${encodeURIComponent(id)}`}>
        <bdi>{job?.name ?? id}</bdi>
      </TextLink>
    </p>
  )
}

function PullRequest({ url }: { url: string }) {
  const safe = /^https?:\/\//i.test(url)
  return safe ? (
    <a className="wrap-anywhere text-accent underline" href={url} rel="noopener noreferrer nofollow" target="_blank">
      {f.pr}
    </a>
  ) : (
    <bdi className="key wrap-anywhere">{url}</bdi>
  )
}
