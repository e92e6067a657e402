import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, type Schemas, take } from '../api/client'
import { useGo } from '../app/useGo'
import { settings } from '../texts/settings'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Field, TextArea } from '../ui/Field'
import { Badge } from '../ui/State'
import { SubmitForm } from '../ui/SubmitForm'
import { Answer, Empty } from '../ui/Views'
import { Part, Refusal, refused } from './Bits'
import { openTasksQuery, projectsQuery } from './queries'
import { SaveButtons, useSave } from './useSave'

const projectsRoute = getRouteApi('/frame/settings/projects')

const words = settings.projects
type Project = Schemas['TaskProject']

/** The projects. Everyone can create and change them, as they can with tasks. */
export function ProjectsPart() {
  const search = projectsRoute.useSearch()
  const go = useGo<typeof search>('/settings/projects')
  const asked = useQuery(projectsQuery)
  const add = (
    <Button icon="plus" look="primary" onClick={() => go({ new: '1' })}>
      {words.add}
    </Button>
  )
  const close = () => go({ new: undefined, project: undefined }, true)
  return (
    <Part actions={add} forAll id="projects">
      <Answer of={asked} what={words.what}>
        {projects => {
          const edited = projects.find(p => p.key === search.project)
          return (
            <>
              {projects.length === 0 ? (
                <Empty icon="tasks" title={words.empty}>
                  {words.emptyText}
                </Empty>
              ) : (
                <ul aria-label={settings.parts.projects.name} className="hairline divide-y divide-line rounded-md">
                  {projects.map(p => (
                    <Row key={p.id} onEdit={() => go({ project: p.key })} project={p} />
                  ))}
                </ul>
              )}
              <Dialog onClose={close} open={search.new === '1'} title={words.add}>
                <Form onClose={close} project={null} />
              </Dialog>
              <Dialog onClose={close} open={edited !== undefined} title={words.editNamed(edited?.name ?? '')}>
                {edited && <Form key={edited.id} onClose={close} project={edited} />}
              </Dialog>
            </>
          )
        }}
      </Answer>
    </Part>
  )
}

function Row({ project: p, onEdit }: { project: Project; onEdit: () => void }) {
  return (
    <li className="flex items-center gap-x-3 px-3 py-1.5" data-project={p.key}>
      <div className="min-w-0 grow">
        <p className="wrap-anywhere font-medium">
          <Link
            aria-label={words.tasksOf(p.name)}
            className="text-accent hover:underline"
            search={{ project: p.key }}
            to="/tasks"
          >
            <bdi>{p.name}</bdi>
          </Link>{' '}
          <span className="font-mono font-normal text-soft text-xs">{p.key}</span>
        </p>
        {p.description && (
          <p className="line-clamp-2 wrap-anywhere text-soft text-xs">
            <bdi>{p.description}</bdi>
          </p>
        )}
      </div>
      {p.archived_at ? (
        <Badge icon="archive" tone="idle">
          {words.archived}
        </Badge>
      ) : (
        <OpenTasks project={p} />
      )}
      <span className="ml-auto flex shrink-0 gap-1">
        <Button aria-label={words.editNamed(p.name)} onClick={onEdit}>
          {words.edit}
        </Button>
      </span>
    </li>
  )
}

/** The number of a project's open tasks, as a link to them. */
function OpenTasks({ project: p }: { project: Project }) {
  const open = useQuery(openTasksQuery(p.key)).data
  if (open === undefined || open === null) return null
  return (
    <Link className="shrink-0 text-accent text-xs underline" search={{ project: p.key }} to="/tasks">
      {words.openTasks(open)}
    </Link>
  )
}

const kind = {
  create: (body: Schemas['TaskNewProject'], headers: { 'Idempotency-Key': string }) =>
    take(api.POST('/api/v1/projects', { body, headers })),
  change: (id: string, body: Schemas['TaskProjectChange'], header: { 'If-Match': string }) =>
    take(api.PATCH('/api/v1/projects/{id}', { params: { path: { id }, header }, body })),
  words,
  // The board has the projects under a key of its own.
  stale: [projectsQuery.queryKey, ['projects']],
}

function Form({ project, onClose }: { project: Project | null; onClose: () => void }) {
  // The form keeps the version it was opened with.
  const [was] = useState(project)
  const save = useSave(kind, project, onClose)
  const field = (name: keyof Schemas['TaskNewProject']) => ({ error: refused(save.error, name), name })
  return (
    <SubmitForm
      onSend={text => {
        const now = { name: text('name'), description: text('description') }
        if (!was) return save.mutate({ made: { key: text('key').toUpperCase(), ...now } })
        const changed = {
          ...(now.name === was.name ? {} : { name: now.name }),
          ...(now.description === was.description ? {} : { description: now.description }),
        }
        if (Object.keys(changed).length === 0) return onClose()
        save.mutate({ changed })
      }}
    >
      <Field {...field('name')} autoFocus defaultValue={was?.name} label={words.name} maxLength={100} required />
      {!was && (
        <Field
          {...field('key')}
          className="[&_input]:uppercase"
          help={words.keyHelp}
          label={words.key}
          maxLength={10}
          minLength={2}
          required
          spellCheck={false}
        />
      )}
      <TextArea
        {...field('description')}
        defaultValue={was?.description}
        help={words.descriptionHelp}
        label={words.description}
        maxLength={10_000}
        rows={4}
      />
      <Refusal error={save.error} />
      <SaveButtons
        archived={project ? project.archived_at !== null : undefined}
        busy={save.isPending}
        onArchive={archived => save.mutate({ changed: { archived } })}
        onClose={onClose}
        words={words}
      />
    </SubmitForm>
  )
}
