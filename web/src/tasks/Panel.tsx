import { useQuery } from '@tanstack/react-query'
import { moment, unknown } from '../app/format'
import type { Person } from '../app/queries'
import { usePeople } from '../app/queries'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { IconButton } from '../ui/Button'
import { Select } from '../ui/Field'
import { Menu } from '../ui/Menu'
import { SidePanel } from '../ui/SidePanel'
import { Tabs } from '../ui/Tabs'
import { sessionHref, TextLink } from '../ui/TextLink'
import { Answer } from '../ui/Views'
import { useActions } from './actions'
import { Comments } from './Comments'
import { useChange } from './change'
import { costOf, tokensOf } from './dispatch'
import { Description, Title } from './Edit'
import { DueField, TagsField } from './FactFields'
import { History } from './History'
import { NextStep } from './NextStep'
import { oneQuery, projectsQuery } from './queries'
import { Relations } from './Relations'
import { Reports } from './Reports'
import { Sessions } from './Sessions'
import type { tabs } from './search'
import { priorities, statuses, type Task, types } from './task'

const words = texts.tasks
const f = words.fields

interface Props {
  /** The key or ID in the URL. */
  task: string
  tab: (typeof tabs)[number]
  onTab: (tab: (typeof tabs)[number]) => void
  onClose: () => void
  onOpen: (key: string) => void
}

/** A task beside the list, or over it on a phone. */
export function Panel({ task: key, tab, onTab, onClose, onOpen }: Props) {
  const asked = useQuery(oneQuery(key))
  const people = usePeople()
  const { menu } = useActions()
  return (
    <SidePanel
      header={
        <>
          <span className="key grow text-soft">{asked.data?.key ?? key}</span>
          {asked.data && (
            <Menu
              groups={menu(asked.data, null)}
              trigger={<IconButton icon="more" label={words.actions(asked.data.key)} />}
            />
          )}
        </>
      }
      label={key}
      onClose={onClose}
      writes
    >
      <Answer of={asked} what={key}>
        {task => (
          <div className="flex flex-col gap-4">
            <Title task={task} />
            <NextStep people={people} task={task} />
            <Description task={task} />
            <Facts people={people} task={task} />
            <Tabs
              label={task.key}
              onChange={onTab}
              tabs={[
                {
                  id: 'comments',
                  label: words.comments,
                  count: task.comment_count,
                  panel: () => <Comments task={task} />,
                },
                {
                  id: 'reports',
                  label: words.reports,
                  panel: () => <Reports people={people} task={task} />,
                },
                {
                  id: 'sessions',
                  label: words.sessions,
                  panel: () => <Sessions people={people} task={task} />,
                },
                { id: 'history', label: words.history, panel: () => <History people={people} task={task} /> },
                {
                  id: 'relations',
                  label: words.relations,
                  count: task.depends_on?.length ?? 0,
                  panel: () => <Relations onOpen={onOpen} task={task} />,
                },
              ]}
              value={tab}
            />
          </div>
        )}
      </Answer>
    </SidePanel>
  )
}

function Facts({ task, people }: { task: Task; people: ReadonlyMap<string, Person> }) {
  const change = useChange()
  const team = [...people.values()].filter(p => p.active || p.id === task.assignee_id)
  const set = (part: Partial<Task>) =>
    change({ task, body: part as Record<string, never>, looks: part, done: words.changed(task.key) })
  const unknownHolder = task.assignee_id !== null && !people.has(task.assignee_id)
  return (
    <div className="grid grid-cols-2 gap-x-3 gap-y-2">
      <Select
        choices={statuses.map(s => ({ value: s, label: words.status[s] }))}
        label={f.status}
        onChange={e => set({ status: e.target.value as Task['status'] })}
        value={task.status}
      />
      <Select
        choices={[
          { value: '', label: words.unassigned },
          ...(unknownHolder ? [{ value: task.assignee_id ?? '', label: words.somebody }] : []),
          ...team.map(p => ({ value: p.id, label: p.name })),
        ]}
        label={f.assignee}
        onChange={e => set({ assignee_id: e.target.value || null })}
        value={task.assignee_id ?? ''}
      />
      <Select
        choices={priorities.map(p => ({ value: p, label: words.priority[p] }))}
        label={f.priority}
        onChange={e => set({ priority: e.target.value as Task['priority'] })}
        value={task.priority}
      />
      <Select
        choices={types.map(t => ({ value: t, label: words.type[t] }))}
        label={f.type}
        onChange={e => set({ type: e.target.value as Task['type'] })}
        value={task.type}
      />
      <DueField onPick={due_at => set({ due_at })} task={task} />
      <ProjectField onPick={project_id => set({ project_id })} task={task} />
      <TagsField onPick={tags => set({ tags })} task={task} />
      <p className="col-span-2 flex flex-wrap gap-x-4 text-soft text-xs">
        <span>
          {f.age} <Age at={task.moved_at} />
        </span>
        <span>
          {f.created} <Age at={task.created_at} /> {words.ago}
          {task.reporter_id && ` ${words.by} ${people.get(task.reporter_id)?.name ?? words.somebody}`}
        </span>
        <Cost task={task} />
        {task.claim && <span>{words.claimedUntil(task.claim.name, moment(task.claim.expires_at))}</span>}
        {task.branch && (
          <span>
            {f.branch} <bdi className="key wrap-anywhere">{task.branch}</bdi>
          </span>
        )}
        {task.session_key && (
          <TextLink href={sessionHref(task.session_key)} title={task.session_key}>
            {f.session}
          </TextLink>
        )}
        {task.pr_url && <PullRequest url={task.pr_url} />}
      </p>
    </div>
  )
}

/** The project of the task; nothing if there are no projects. */
function ProjectField({ task, onPick }: { task: Task; onPick: (id: string | null) => void }) {
  const projects = useQuery(projectsQuery).data ?? []
  if (projects.length === 0 && task.project_id === null) return null
  const gone = task.project_id !== null && !projects.some(p => p.id === task.project_id)
  return (
    <Select
      choices={[
        { value: '', label: words.noProject },
        ...(gone ? [{ value: task.project_id ?? '', label: words.someProject }] : []),
        ...projects.map(p => ({ value: p.id, label: p.name })),
      ]}
      label={f.project}
      onChange={e => onPick(e.target.value || null)}
      value={task.project_id ?? ''}
    />
  )
}

/** The cost and tokens of the task's runs. */
function Cost({ task }: { task: Task }) {
  const cost = costOf(task)
  const used = tokensOf(task.tokens)
  if (cost === null && used === null) return null
  return (
    <span title={used?.parts}>
      {words.cost} <span className="text-ink">{cost ?? unknown}</span>
      {used && ` · ${used.sum} ${words.tokens}`}
    </span>
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
