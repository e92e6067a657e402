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

/** What the service finds, a task of the word that was asked for, once it may answer. */
let answers: Promise<void>

beforeEach(() => {
  // A dialog asks whether things can be animated, and scrolls; here it cannot.
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

// Who types on and presses Enter means what they typed last.
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
    // Before the new word is asked for, and while it is.
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
