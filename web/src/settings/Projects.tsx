import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, ifMatch, newKey, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { useGo } from '../app/useGo'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { Button, buttonClass } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { Field, TextArea } from '../ui/Field'
import { Badge } from '../ui/State'
import { SubmitForm } from '../ui/SubmitForm'
import { say } from '../ui/toast'
import { Answer, Empty } from '../ui/Views'
import { Part, Refusal, refused } from './Bits'
import { projectsQuery } from './queries'

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
      {words.create}
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
              <Dialog onClose={close} open={search.new === '1'} title={words.create}>
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
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5" data-project={p.key}>
      <div className="min-w-0 grow basis-56">
        <p className="wrap-anywhere font-medium">
          <bdi>{p.name}</bdi> <span className="font-mono font-normal text-soft text-xs">{p.key}</span>
        </p>
        {p.description && (
          <p className="line-clamp-2 wrap-anywhere text-soft text-xs">
            <bdi>{p.description}</bdi>
          </p>
        )}
      </div>
      {p.archived_at && (
        <Badge icon="archive" tone="idle">
          {words.archived}
        </Badge>
      )}
      <Link aria-label={words.tasksOf(p.name)} className={buttonClass('quiet')} search={{ project: p.key }} to="/tasks">
        {words.tasks}
      </Link>
      <Button aria-label={words.editNamed(p.name)} onClick={onEdit}>
        {words.edit}
      </Button>
    </li>
  )
}

function useSave(project: Project | null, onClose: () => void) {
  const cache = useQueryClient()
  const [key, setKey] = useState(newKey)
  const [version, setVersion] = useState(project?.version ?? 0)
  return useMutation({
    mutationFn: (of: { made: Schemas['TaskNewProject'] } | { changed: Schemas['TaskProjectChange'] }) =>
      'made' in of
        ? take(api.POST('/api/v1/projects', { body: of.made, headers: { 'Idempotency-Key': key } }))
        : take(
            api.PATCH('/api/v1/projects/{id}', {
              params: { path: { id: project?.id ?? '' }, header: ifMatch(version) },
              body: of.changed,
            }),
          ),
    onSuccess: next => {
      say(project ? words.saved(next.name) : words.created(next.name))
      // The board has the projects under a key of its own.
      for (const queryKey of [projectsQuery.queryKey, ['projects']]) void cache.invalidateQueries({ queryKey })
      onClose()
    },
    onError: err => {
      const problem = asProblem(err)
      if (problem.status > 0) setKey(newKey())
      if (typeof problem.facts.current_version === 'number') setVersion(problem.facts.current_version)
    },
  })
}

function Form({ project, onClose }: { project: Project | null; onClose: () => void }) {
  // The form keeps the version it was opened with.
  const [was] = useState(project)
  const save = useSave(project, onClose)
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
      <div className="flex flex-wrap justify-end gap-2">
        {project && (
          <Button
            busy={save.isPending}
            className="mr-auto"
            icon="archive"
            onClick={() => save.mutate({ changed: { archived: project.archived_at === null } })}
          >
            {project.archived_at ? words.restore : words.archive}
          </Button>
        )}
        <Button look="quiet" onClick={onClose}>
          {texts.ui.cancel}
        </Button>
        <Button busy={save.isPending} look="primary" type="submit">
          {project ? settings.save : words.create}
        </Button>
      </div>
    </SubmitForm>
  )
}
