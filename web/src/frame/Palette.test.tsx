// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { noteVisit } from '../app/recent'
import { session } from '../app/session'
import { Palette } from './Palette'

const gone = vi.hoisted(() => vi.fn())
vi.mock('@tanstack/react-router', async of => ({
  ...(await of<typeof import('@tanstack/react-router')>()),
  useNavigate: () => gone,
  useRouter: () => ({ history: { push: gone } }),
}))

/** Delays the search results. Each search finds one task named after its query, and `more`. */
let answers: Promise<void>
let more: object[]
let items: object[]
let jobs: object[]

const result = {
  ...{ kind: 'comment', task_id: null, task_key: null, comment_id: null, session_id: null, standup_id: null },
  ...{ agent_id: null, title: '', snippet: '', marks: [], at: '2026-11-20T08:00:00Z', edited_at: null },
}

beforeEach(() => {
  // jsdom has neither; the dialog needs them.
  Element.prototype.getAnimations ??= () => []
  Element.prototype.scrollIntoView ??= () => undefined
  session.signIn('somebody')
  gone.mockReset()
  answers = Promise.resolve()
  more = []
  items = []
  jobs = []
  vi.stubGlobal('fetch', async (request: Request) => {
    const { pathname, searchParams } = new URL(request.url)
    const q = searchParams.get('q')
    if (pathname === '/api/v1/search') await answers
    const found = { ...result, kind: 'task', task_id: q, task_key: `TASK-${q}`, title: `Task of ${q}` }
    const bodies: Record<string, unknown> = {
      '/api/v1/search': [found, ...more],
      '/api/v1/inbox': items,
      '/api/v1/agentrt/status': { state: 'connected' },
      '/api/v1/agentrt/jobs': jobs,
    }
    return new Response(JSON.stringify(bodies[pathname] ?? []), { headers: { 'Content-Type': 'application/json' } })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

function open() {
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

// Enter must act on the current query, not on results of an earlier one.
describe('Enter in the palette', () => {
  it('opens nothing that was found for an earlier word, and is not lost', async () => {
    const { type, enter } = open()
    type('blue')
    await screen.findByRole('option', { name: /Task of blue/ })
    let answer: (() => void) | undefined
    answers = new Promise(done => {
      answer = done
    })
    type('green')
    // Before the new query is sent, and while it is running.
    enter()
    await new Promise(done => setTimeout(done, 250))
    expect(screen.queryByRole('option', { name: /Task of blue/ })).not.toBeNull()
    enter()
    await new Promise(done => setTimeout(done))
    expect(gone).not.toHaveBeenCalled()
    answer?.()
    await waitFor(() => expect(gone).toHaveBeenCalled())
    expect(gone.mock.calls).toEqual([[{ to: '/tasks', search: { task: 'TASK-green' } }]])
  })

  it('is forgotten when typing goes on', async () => {
    const { type, enter } = open()
    type('blue')
    await screen.findByRole('option', { name: /Task of blue/ })
    type('green')
    enter()
    type('red')
    await screen.findByRole('option', { name: /Task of red/ })
    await new Promise(done => setTimeout(done))
    expect(gone).not.toHaveBeenCalled()
  })

  it('opens the task whose key was typed, without a search', async () => {
    const { type, enter } = open()
    type('task-1')
    type('task-12')
    enter()
    await waitFor(() => expect(gone).toHaveBeenCalledWith({ to: '/tasks', search: { task: 'TASK-12' } }))
  })
})

// A task, its comments, and its session have one title; the reader must know which is which.
it('tells rows of the same task apart', async () => {
  const comment = (id: string, snippet: string) => ({
    ...result,
    ...{ task_id: 'blue', task_key: 'TASK-blue', title: 'Task of blue', comment_id: id, snippet },
    marks: [{ start: 0, end: 4 }],
  })
  more = [comment('c1', 'blue <b>paint</b>'), comment('c2', 'blue sky'), comment('c3', 'blue sea')]
  more.push({ ...result, kind: 'session', session_id: 's', agent_id: 'cto', title: 'Task of blue' })
  const { type } = open()
  type('blue')
  await screen.findByText(/Session ·/)
  const rows = screen.getAllByRole('option').map(o => o.textContent)
  expect(rows).toHaveLength(5)
  expect(rows[0]).toMatch(/^Task of blueTASK-blueTask · /)
  expect(rows[1]).toMatch(/^Task of blueTASK-blueComment · .*blue <b>paint<\/b>$/)
  expect(rows[2]).toMatch(/Comment · .*blue sky$/)
  expect(rows[3]).toMatch(/^Task of bluectoSession · /)
  expect(rows[4]).toBe('New task: blue')
  expect(screen.getAllByText('blue', { selector: 'mark' }).length).toBeGreaterThan(3)
})

// The standup of each day repeats what is still open, and must not hide the rest.
it('shows the two newest standups', async () => {
  more = ['18', '20', '19'].map(day => ({
    ...result,
    ...{
      kind: 'report',
      standup_id: day,
      agent_id: 'cto',
      title: `Standup of 2026-11-${day}`,
      at: `2026-11-${day}T08:00:00Z`,
    },
  }))
  const { type } = open()
  type('blue')
  const rows = within(await screen.findByRole('group', { name: 'Standups' })).getAllByRole('option')
  expect(rows.map(o => o.textContent)).toEqual([
    expect.stringContaining('20 Nov'),
    expect.stringContaining('19 Nov'),
    '1 more standup',
  ])
})

it('creates a task from a text for which there is nothing', async () => {
  const { type, enter } = open()
  type('ø')
  await screen.findByText('No results. Search finds whole words.')
  enter()
  await waitFor(() => expect(gone).toHaveBeenCalledWith({ to: '/tasks', search: { new: 'ø' } }))
})

// A job is named in the inbox and in chats; its name must lead to it. The name is the agent's.
it('finds a job by its name, and shows it as text', async () => {
  jobs = [
    { id: 'j1', name: 'Mix <img src=x onerror=alert(1)> blue', agentId: 'cto' },
    { id: 'j2', name: 'Mix red', agentId: 'cto' },
  ]
  const { type } = open()
  type('blue')
  const found = within(await screen.findByRole('group', { name: 'Schedules' })).getAllByRole('option')
  expect(found.map(o => o.textContent)).toEqual(['Mix <img src=x onerror=alert(1)> bluectoJob'])
  expect(document.querySelector('img')).toBeNull()
  fireEvent.click(found[0] as HTMLElement)
  await waitFor(() => expect(gone).toHaveBeenCalledWith({ to: '/schedules', search: { job: 'j1' } }))
})

// The item is where the user acts on a blocked task.
it('finds an inbox item by its text, after the tasks', async () => {
  const item = {
    id: 'i1',
    kind: 'spend_unusual',
    state: 'open',
    assignee: null,
    subject: { kind: '', id: '', name: '' },
  }
  const detail = 'Nobody can buy *blue* paint.\n\nA second paragraph.'
  items = [{ ...item, title: 'The card expired', detail, last_at: '2026-11-20T08:00:00Z' }]
  const { type } = open()
  type('blue')
  await screen.findByRole('option', { name: /Task of blue/ })
  const found = within(await screen.findByRole('group', { name: 'Inbox' })).getByRole('option')
  expect(screen.getAllByRole('option').indexOf(found)).toBe(1)
  expect(found.textContent).toMatch(/Nobody can buy blue paint\.$/)
  expect(within(found).getByText('blue', { selector: 'mark' })).toBeTruthy()
  fireEvent.click(found)
  await waitFor(() => expect(gone).toHaveBeenCalledWith({ to: '/inbox', search: { item: 'i1' } }))
})

it('has the things that were looked at last, and leads back to them', async () => {
  noteVisit('Flaky import test', '/sessions/a')
  noteVisit('TASK-7', '/tasks?task=TASK-7')
  const { enter } = open()
  const recent = within(screen.getByRole('group', { name: 'Recent' }))
  expect(recent.getAllByRole('option').map(o => o.textContent)).toEqual(['TASK-7', 'Flaky import test'])
  enter()
  await waitFor(() => expect(gone).toHaveBeenCalledWith('/tasks?task=TASK-7'))
  cleanup()
  session.signOut()
  open()
  expect(screen.queryByRole('group', { name: 'Recent' })).toBeNull()
})
