// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { queries } from '../app/queries'
import { session } from '../app/session'
import { activeRunsQuery } from '../spend/activeRuns'
import type { Task } from '../tasks/task'
import { ReviewActions } from './ReviewActions'

const posted: string[] = []
beforeEach(() => {
  session.signIn('somebody')
  posted.length = 0
  vi.stubGlobal('fetch', async (request: Request) => {
    if (request.method === 'POST') posted.push(new URL(request.url).pathname)
    return new Response('[]', { headers: { 'Content-Type': 'application/json' } })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

type Known = Partial<Pick<Task, 'dispatch' | 'waiting_on'>>

function show(known: Known, runs: readonly string[] = []) {
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } })
  cache.setQueryData(queries.me.queryKey, { id: 'u1', name: 'Ada', role: 'owner' } as never)
  cache.setQueryData(queries.agents.queryKey, [{ agent_id: 'cto', name: 'CTO' }] as never)
  const run = { task_key: 'TASK-7', agent_id: 'cto' }
  cache.setQueryData(activeRunsQuery.queryKey, { runs: runs.map(run_id => ({ ...run, run_id })) } as never)
  const onSendBack = vi.fn()
  render(
    <QueryClientProvider client={cache}>
      <ReviewActions onSendBack={onSendBack} task={{ id: 't7', key: 'TASK-7', moved_at: '', ...known }} />
    </QueryClientProvider>,
  )
  const approve = screen.getByRole('button', { name: 'Approve: TASK-7' })
  const back = screen.getByRole('button', { name: 'Send back: TASK-7' })
  fireEvent.click(back)
  fireEvent.click(approve)
  return { approve, back, onSendBack }
}

const dispatch = (state: string) => ({ state, agent_id: 'cto' }) as Task['dispatch']
const works = 'CTO is working on it. Review it when the run ends, or stop the run.'

// The server refuses both, and what the agent does next may change the result.
it.each<[string, Known, string[], string]>([
  ['its agent works on it', { dispatch: dispatch('started') }, [], works],
  ['it is queued for its agent', { dispatch: dispatch('queued') }, [], works],
  ['a list knows only the run', {}, ['task-TASK-7-1-9f3a21bc'], works],
  ['it waits for another task', { dispatch: null, waiting_on: 1 }, [], 'Waiting for 1 unfinished task.'],
])('a review says why it is not possible while %s', (_, known, runs, why) => {
  const { approve, back, onSendBack } = show(known, runs)
  for (const button of [approve, back]) {
    expect(button.getAttribute('aria-disabled')).toBe('true')
    expect(button.title).toBe(why)
  }
  expect(onSendBack).not.toHaveBeenCalled()
  expect(posted).toEqual([])
})

it.each<[string, Known, string[]]>([
  ['its agent’s run has ended', { dispatch: dispatch('ended'), waiting_on: 0 }, ['task-TASK-7-1-9f3a21bc']],
  ['its agent answers a message about it', {}, ['a-message']],
])('a review is possible when %s', async (_, known, runs) => {
  const { approve, onSendBack } = show(known, runs)
  expect(approve.getAttribute('aria-disabled')).toBeNull()
  expect(onSendBack).toHaveBeenCalledOnce()
  await waitFor(() => expect(posted).toEqual(['/api/v1/tasks/t7/approve']))
})
