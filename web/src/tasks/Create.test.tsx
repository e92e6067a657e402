// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { Create } from './Create'

const posted: unknown[] = []

beforeEach(() => {
  // jsdom has no animations; the dialog asks for them.
  Element.prototype.getAnimations ??= () => []
  session.signIn('somebody')
  posted.length = 0
  vi.stubGlobal('fetch', async (request: Request) => {
    const path = new URL(request.url, 'http://x').pathname
    if (request.method === 'POST') posted.push(JSON.parse(await request.text()))
    const body =
      request.method === 'POST'
        ? { id: 't1', key: 'TASK-1', version: 1 }
        : path === '/api/v1/projects'
          ? [{ id: 'p1', key: 'WEB', name: 'Web' }]
          : []
    return new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

// A new task must not need a second step to get its date, its project, and its tags.
it('a new task gets a due date, tags, and the project of the filter', async () => {
  const onCreated = vi.fn()
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Create defaults={{ project: 'WEB' }} onClose={() => undefined} onCreated={onCreated} open />
    </QueryClientProvider>,
  )
  await screen.findByLabelText('Project')
  fireEvent.change(screen.getByLabelText('Title'), { target: { value: 'Write the runbook' } })
  fireEvent.change(screen.getByLabelText('Due'), { target: { value: '2026-12-04' } })
  fireEvent.change(screen.getByLabelText('Tags'), { target: { value: 'docs, ops,, docs' } })
  fireEvent.click(screen.getByRole('button', { name: 'Create task' }))
  await waitFor(() => expect(onCreated).toHaveBeenCalledWith('TASK-1'))
  expect(posted).toMatchObject([{ title: 'Write the runbook', project_id: 'p1', tags: ['docs', 'ops'] }])
  const { due_at } = posted[0] as { due_at: string }
  expect(new Date(due_at).getTime()).toBe(new Date('2026-12-04T18:00').getTime())
})
