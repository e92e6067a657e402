// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { take } from '../ui/toast'
import { Create } from './Create'
import { draftOf } from './drafts'

const posted: unknown[] = []
const told: string[] = []
let refuses = false

beforeEach(() => {
  // jsdom has no animations and no scrolling.
  Element.prototype.getAnimations ??= () => []
  Element.prototype.scrollIntoView ??= () => undefined
  session.signIn('somebody')
  posted.length = 0
  take(({ title }) => told.push(title))
  told.length = 0
  vi.stubGlobal('fetch', async (request: Request) => {
    const path = new URL(request.url, 'http://x').pathname
    if (request.method === 'POST') posted.push(JSON.parse(await request.text()))
    if (path.endsWith('/dispatch')) {
      const problem = { title: 'Agent held.', status: 409, detail: 'Release it first.' }
      return new Response(JSON.stringify(refuses ? problem : {}), { status: refuses ? 409 : 200 })
    }
    const body =
      request.method === 'POST'
        ? { id: 't1', key: 'TASK-1', version: 1 }
        : path === '/api/v1/auth/me'
          ? { id: 'u1', role: 'owner' }
          : path === '/api/v1/users'
            ? [{ id: 'u2', name: 'CTO', agent_id: 'cto', active: true }]
            : path === '/api/v1/projects'
              ? [{ id: 'p1', key: 'WEB', name: 'Web' }]
              : path === '/api/v1/tasks'
                ? [{ id: 't7', key: 'TASK-7', title: 'Renew the certificate', status: 'todo', version: 1 }]
                : []
    return new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

// A new task must not need a second step to get its date, its project, its tags, and what blocks it.
it('a new task gets a due date, tags, dependencies, and the project of the filter', async () => {
  const onCreated = vi.fn()
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Create defaults={{ project: 'WEB' }} onClose={() => undefined} onCreated={onCreated} open />
    </QueryClientProvider>,
  )
  await screen.findByLabelText('Project')
  fireEvent.change(screen.getByLabelText(/^Title/), { target: { value: 'Write the runbook' } })
  fireEvent.change(screen.getByLabelText('Due'), { target: { value: '2026-12-04' } })
  fireEvent.change(screen.getByLabelText('Tags'), { target: { value: 'docs, ops,, docs' } })
  fireEvent.change(screen.getByRole('combobox', { name: /^Add task to wait for/ }), { target: { value: 'cert' } })
  fireEvent.click(await screen.findByRole('option', { name: /TASK-7/ }))
  await screen.findByRole('button', { name: 'Remove TASK-7' })
  // Nothing is lost if the dialog is closed by mistake.
  expect(JSON.parse(draftOf('new task', ''))).toMatchObject({ due: '2026-12-04', waits: 'TASK-7' })
  fireEvent.click(screen.getByRole('button', { name: 'Create task' }))
  await waitFor(() => expect(onCreated).toHaveBeenCalledWith('TASK-1'))
  expect(posted).toMatchObject([
    { title: 'Write the runbook', project_id: 'p1', tags: ['docs', 'ops'], depends_on: ['TASK-7'] },
  ])
  // The same day in every time zone.
  expect(posted[0]).toMatchObject({ due_at: '2026-12-04T23:59:59.999Z' })
})

// A task for an agent must reach it in one step, and must not be lost if that fails.
it.each([
  [false, 'TASK-1 created and sent to CTO'],
  [true, 'TASK-1 created, but not sent'],
])('a new task is sent to its agent at once (refused: %s)', async (fails, said) => {
  refuses = fails
  const onCreated = vi.fn()
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Create defaults={{ assignee: 'cto' }} onClose={() => undefined} onCreated={onCreated} open />
    </QueryClientProvider>,
  )
  fireEvent.click(await screen.findByRole('checkbox', { name: 'Send it to CTO now' }))
  fireEvent.change(screen.getByLabelText(/^Title/), { target: { value: 'Write the runbook' } })
  fireEvent.click(screen.getByRole('button', { name: 'Create task' }))
  await waitFor(() => expect(onCreated).toHaveBeenCalledWith('TASK-1'))
  expect(told).toEqual([said])
  expect(posted).toMatchObject([{ title: 'Write the runbook', assignee_id: 'u2' }, {}])
})
