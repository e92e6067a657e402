// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { dropDraft } from '../tasks/drafts'
import { Decide } from './Decide'

const task = {
  id: 't7',
  key: 'TASK-7',
  title: 'Renew the certificate',
  status: 'in_progress',
  assignee_id: 'u2',
  blocked: { reason: 'No card', by: 'CTO', since: '2026-11-20T08:00:00.000Z' },
  dispatch: null,
  archived_at: null,
  waiting_on: 0,
  claim: null,
  version: 1,
}
const posted: unknown[] = []
let answers: Record<string, unknown>
let refused = false

beforeEach(() => {
  session.signIn('somebody')
  posted.length = 0
  refused = false
  dropDraft('decision', 't7')
  answers = {
    '/api/v1/auth/me': { id: 'u1', name: 'Ada', role: 'owner' },
    '/api/v1/agents': [],
    '/api/v1/users': [{ id: 'u2', name: 'CTO', role: 'agent', agent_id: 'cto', active: true }],
    '/api/v1/agentrt/status': { state: 'connected' },
    '/api/v1/tasks/TASK-7': task,
  }
  vi.stubGlobal('fetch', async (request: Request) => {
    const path = new URL(request.url, 'http://x').pathname
    const isPost = request.method === 'POST'
    if (isPost) posted.push({ path, body: JSON.parse(await request.text()) })
    const status = isPost && refused ? 409 : 200
    const body = status === 409 ? { code: 'task_archived', title: 'The task is archived.' } : (answers[path] ?? task)
    const type = status === 409 ? 'application/problem+json' : 'application/json'
    return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': type } })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

async function show() {
  const onDone = vi.fn()
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Decide onDone={onDone} task="TASK-7" />
    </QueryClientProvider>,
  )
  const field = await screen.findByLabelText<HTMLTextAreaElement>('Your decision')
  const submit = () => fireEvent.keyDown(field, { key: 'Enter', ctrlKey: true })
  return { onDone, field, submit }
}
const check = (name: string) => screen.findByRole<HTMLInputElement>('checkbox', { name })

// One answer must settle a blocked task for the team, the inbox, and the agent.
describe('a decision', () => {
  it('unblocks the task and sends it to its agent by default', async () => {
    const { onDone, field, submit } = await show()
    expect((await check('Unblock TASK-7')).checked).toBe(true)
    await waitFor(async () => expect((await check('Send to CTO now')).checked).toBe(true))
    submit()
    expect(posted).toEqual([])
    fireEvent.change(field, { target: { value: ' Use the new card. ' } })
    submit()
    await waitFor(() => expect(onDone).toHaveBeenCalledOnce())
    const path = '/api/v1/tasks/t7/decide'
    expect(posted).toEqual([{ path, body: { text: 'Use the new card.', unblock: true, dispatch: true } }])
  })

  it('can keep the task blocked and unsent', async () => {
    const { onDone, field, submit } = await show()
    fireEvent.click(await check('Unblock TASK-7'))
    await waitFor(async () => expect((await check('Send to CTO now')).checked).toBe(true))
    fireEvent.click(await check('Send to CTO now'))
    screen.getByText('The item stays in the inbox, acknowledged.')
    fireEvent.change(field, { target: { value: 'Wait for Friday.' } })
    submit()
    await waitFor(() => expect(onDone).toHaveBeenCalledOnce())
    expect(posted).toMatchObject([{ body: { unblock: false, dispatch: false } }])
  })

  it('shows why it was refused, and keeps the text', async () => {
    refused = true
    const first = await show()
    fireEvent.change(first.field, { target: { value: 'Use the new card.' } })
    first.submit()
    await screen.findByText(/The task is archived/)
    expect(first.onDone).not.toHaveBeenCalled()
    cleanup()
    const { field } = await show()
    expect(field.value).toBe('Use the new card.')
  })

  it('cannot be sent without an agent, or while the agent works on the task', async () => {
    answers['/api/v1/tasks/TASK-7'] = { ...task, assignee_id: null, blocked: null }
    await show()
    expect(screen.queryAllByRole('checkbox')).toEqual([])
    cleanup()
    answers['/api/v1/tasks/TASK-7'] = { ...task, dispatch: { state: 'started' } }
    const { field, submit } = await show()
    await waitFor(async () => expect((await check('Send to CTO now')).disabled).toBe(true))
    fireEvent.change(field, { target: { value: 'Go on.' } })
    submit()
    await waitFor(() => expect(posted).toMatchObject([{ body: { unblock: true, dispatch: false } }]))
  })
})
