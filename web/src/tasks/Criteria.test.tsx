// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { Criteria } from './Criteria'
import type { Task } from './task'

const task = {
  id: 't2',
  key: 'TASK-2',
  version: 3,
  archived_at: null,
  criteria: [
    { text: 'All have a label', check: null, met: true, met_by: 'Owner', met_at: '2026-11-28T08:00:00Z' },
    { text: 'The sheet is valid', check: null, met: false, met_by: null, met_at: null },
  ],
  checks: ['make check'],
} as unknown as Task
const sent: unknown[] = []

beforeEach(() => {
  session.signIn('somebody')
  sent.length = 0
  vi.stubGlobal('fetch', async (request: Request) => {
    if (request.method === 'PATCH') sent.push(JSON.parse(await request.text()))
    const isMe = request.url.endsWith('/auth/me')
    return new Response(JSON.stringify(isMe ? { id: 'u1', name: 'Owner', role: 'owner' } : task), {
      headers: { 'Content-Type': 'application/json' },
    })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

it('lets a check decide about a criterion, and keeps the tick of the other', async () => {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Criteria task={task} />
    </QueryClientProvider>,
  )
  fireEvent.click(await screen.findByRole('button', { name: 'Edit criteria and checks' }))
  fireEvent.keyDown(screen.getByRole('combobox', { name: 'Who decides: The sheet is valid' }), { key: 'm' })
  fireEvent.submit(screen.getByRole('textbox', { name: /^Criteria/ }).closest('form') as HTMLFormElement)
  await waitFor(() =>
    expect(sent).toEqual([
      {
        criteria: [
          { text: 'All have a label', met: true },
          { text: 'The sheet is valid', check: 'make check' },
        ],
        checks: ['make check'],
      },
    ]),
  )
})
