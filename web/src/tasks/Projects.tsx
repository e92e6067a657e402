import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { api, ifMatch, type Schemas, take } from '../api/client'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { Field } from '../ui/Field'
import { SubmitForm } from '../ui/SubmitForm'
import { say, sayFailed } from '../ui/toast'
import { Answer } from '../ui/Views'
import { projectsQuery } from './queries'

const words = texts.tasks.projects
type Project = Schemas['TaskProject']

const readAgain = (cache: QueryClient) => cache.invalidateQueries({ queryKey: projectsQuery.queryKey })

const change = (p: Project, body: Schemas['TaskProjectChange']): Promise<Project> =>
  take(
    api.PATCH('/api/v1/projects/{id}', {
      params: { path: { id: p.id }, header: ifMatch(p.version) },
      body,
    }),
  )

/** The projects, to rename or archive, and a form for a new one. */
export function Projects() {
  const asked = useQuery(projectsQuery)
  return (
    <div className="flex flex-col gap-4">
      <Answer of={asked} rows={2} what={words.what}>
        {projects =>
          projects.length === 0 ? (
            <p className="text-soft">{words.none}</p>
          ) : (
            <ul className="flex flex-col gap-2">
              {projects.map(p => (
                <Row key={p.id} project={p} />
              ))}
            </ul>
          )
        }
      </Answer>
      <Create />
    </div>
  )
}

/** A project. A new name is saved when the field is left or with Enter. */
function Row({ project: p }: { project: Project }) {
  const cache = useQueryClient()
  const send = useMutation({
    mutationFn: (body: Schemas['TaskProjectChange']) => change(p, body),
    onSuccess: (now, { archived }) => {
      if (archived)
        say(words.archived(now.name), () => {
          change(now, { archived: false }).then(
            () => readAgain(cache),
            err => sayFailed(err, words.couldNot(now.name)),
          )
        })
      else say(words.renamed(now.name))
    },
    onError: err => sayFailed(err, words.couldNot(p.name)),
    onSettled: () => readAgain(cache),
  })
  return (
    <li className="flex items-center gap-2">
      <span className="key w-20 shrink-0 truncate text-soft">{p.key}</span>
      <Field
        key={p.version}
        className="grow"
        defaultValue={p.name}
        hideLabel
        label={words.nameOf(p.key)}
        maxLength={100}
        onBlur={e => {
          const name = e.target.value.trim()
          if (name && name !== p.name) send.mutate({ name })
        }}
        onKeyDown={e => e.key === 'Enter' && e.currentTarget.blur()}
      />
      <Button
        aria-label={words.archiveOf(p.name)}
        busy={send.isPending}
        icon="archive"
        look="quiet"
        onClick={() => send.mutate({ archived: true })}
      >
        {words.archive}
      </Button>
    </li>
  )
}

function Create() {
  const cache = useQueryClient()
  const form = useRef<HTMLFormElement>(null)
  const create = useMutation({
    mutationFn: (body: Schemas['TaskNewProject']) => take(api.POST('/api/v1/projects', { body })),
    onSuccess: p => {
      form.current?.reset()
      say(words.created(p.name))
      return readAgain(cache)
    },
  })
  const problem = create.error ? asProblem(create.error) : null
  return (
    <SubmitForm
      ref={form}
      onSend={text => {
        if (!create.isPending) create.mutate({ key: text('key').toUpperCase(), name: text('name') })
      }}
    >
      <div className="flex flex-wrap items-start gap-2 border-line border-t pt-3">
        <Field
          autoComplete="off"
          className="w-full min-[26rem]:w-32"
          error={problem?.of('key')}
          help={words.keyHelp}
          label={words.key}
          maxLength={10}
          name="key"
          required
        />
        <Field
          autoComplete="off"
          className="min-w-40 grow"
          error={problem?.of('name')}
          label={words.name}
          maxLength={100}
          name="name"
          required
        />
      </div>
      {problem && problem.fields.length === 0 && (
        <p className="text-danger" role="alert">
          {problem.message}
        </p>
      )}
      <Button busy={create.isPending} className="self-end" icon="plus" type="submit">
        {words.create}
      </Button>
    </SubmitForm>
  )
}
