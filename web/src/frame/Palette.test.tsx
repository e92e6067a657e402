// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { Palette } from './Palette'

const gone = vi.hoisted(() => vi.fn())
vi.mock('@tanstack/react-router', async of => ({
  ...(await of<typeof import('@tanstack/react-router')>()),
  useNavigate: () => gone,
}))

/** Delays the search results. Each search finds one task named after its query. */
let answers: Promise<void>

beforeEach(() => {
  // jsdom has neither; the dialog needs them.
  Element.prototype.getAnimations ??= () => []
  Element.prototype.scrollIntoView ??= () => undefined
  session.signIn('somebody')
  gone.mockReset()
  answers = Promise.resolve()
  vi.stubGlobal('fetch', async (request: Request) => {
    const { pathname, searchParams } = new URL(request.url)
    const q = searchParams.get('q')
    if (pathname === '/api/v1/search') await answers
    const found = { kind: 'task', task_id: q, task_key: `TASK-${q}`, title: `Task of ${q}`, at: '2026-11-20T08:00:00Z' }
    const body = pathname === '/api/v1/search' ? [{ ...found, session_id: null, standup_id: null }] : []
    return new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

// Enter must act on the current query, not on results of an earlier one.
describe('Enter in the palette', () => {
  const open = () => {
    const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } })
    const none = () => undefined
    render(
      <QueryClientProvider client={cache}>
        <Palette onClose={none} onKeys={none} open />
      </QueryClientProvider>,
    )
    const field = screen.getByRole('combobox')
    return {
      type: (value: string) => fireEvent.change(field, { target: { value } }),
      enter: () => fireEvent.keyDown(field, { key: 'Enter' }),
    }
  }

  it('opens nothing that was found for an earlier word', async () => {
    const { type, enter } = open()
    type('blue')
    await screen.findByText('Task of blue')
    let answer: (() => void) | undefined
    answers = new Promise(done => {
      answer = done
    })
    type('green')
    // Before the new query is sent, and while it is running.
    enter()
    await new Promise(done => setTimeout(done, 250))
    expect(screen.queryByText('Task of blue')).not.toBeNull()
    enter()
    await new Promise(done => setTimeout(done))
    expect(gone).not.toHaveBeenCalled()
    answer?.()
    await screen.findByText('Task of green')
    enter()
    await waitFor(() => expect(gone).toHaveBeenCalledWith({ to: '/tasks', search: { task: 'TASK-green' } }))
  })

  it('opens the task whose key was typed, without a search', async () => {
    const { type, enter } = open()
    type('task-1')
    type('task-12')
    enter()
    await waitFor(() => expect(gone).toHaveBeenCalledWith({ to: '/tasks', search: { task: 'TASK-12' } }))
  })
})
