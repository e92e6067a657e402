// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { DispatchPanel } from './DispatchPanel'
import type { Task } from './task'

const key = 'agent:cto:task:task-7'
const started = {
  state: 'started',
  agent_id: 'cto',
  session_key: key,
  since: '2026-11-20T08:00:00Z',
  error: null,
  waiting: null,
}
const task = {
  id: 't7',
  key: 'TASK-7',
  status: 'in_progress',
  assignee_id: 'u2',
  dispatch: started,
  blocked: null,
} as Task
const people = new Map([
  ['u1', { id: 'u1', name: 'Ada', agent: null, active: true }],
  ['u2', { id: 'u2', name: 'CTO', agent: 'cto', active: true }],
])
const asked: string[] = []

beforeEach(() => {
  session.signIn('somebody')
  asked.length = 0
  const answers: Record<string, unknown> = {
    '/api/v1/auth/me': { id: 'u1', name: 'Ada', role: 'owner' },
    '/api/v1/agentrt/status': { state: 'connected' },
    '/api/v1/agentrt/sessions': [
      { key, agent_id: 'cto', active: true, label: null, last_message: '**Reading** the log.', updated_at: null },
    ],
    '/api/v1/usage/going': { runs: [{ task_key: 'TASK-7', cost_usd: '0.12', started_at: '2026-11-20T08:00:00Z' }] },
  }
  vi.stubGlobal('fetch', async (request: Request) => {
    const path = new URL(request.url, 'http://x').pathname
    asked.push(`${request.method} ${path}`)
    return new Response(JSON.stringify(answers[path] ?? task), { headers: { 'Content-Type': 'application/json' } })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

function show(of: Partial<Task>) {
  const history = createMemoryHistory()
  const component = () => <DispatchPanel people={people} task={{ ...task, ...of }} />
  const router = createRouter({ history, routeTree: createRootRoute({ component }) })
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  )
}

// A run that costs money must be seen and stopped where its task is.
describe('the agent of a task', () => {
  it('shows what it does, for how much, and how to stop it', async () => {
    show({})
    await screen.findByText('CTO is working')
    await screen.findByText('Reading the log.')
    await screen.findByText(/\$0\.12/)
    expect(screen.getByRole('link', { name: 'Transcript' }).getAttribute('href')).toContain('/sessions/agent')
    await waitFor(() => expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Stop' }).disabled).toBe(false))
    fireEvent.click(screen.getByRole('button', { name: 'Stop' }))
    await waitFor(() => expect(asked).toContain('DELETE /api/v1/tasks/t7/dispatch'))
  })

  it('is sent a task that waits for nobody else', async () => {
    const none = { dispatch: null, session_key: null }
    show({ ...none, key: 'TASK-8' })
    await screen.findByRole('button', { name: 'Send to CTO' })
    for (const of of [{ status: 'review' }, { status: 'done' }, { assignee_id: 'u1' }] as const) {
      cleanup()
      asked.length = 0
      show({ ...none, key: 'TASK-8', ...of })
      await waitFor(() => expect(asked).toContain('GET /api/v1/usage/going'))
      expect(screen.queryByRole('button')).toBeNull()
    }
  })
})
