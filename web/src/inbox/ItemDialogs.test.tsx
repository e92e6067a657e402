// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { dropDraft } from '../tasks/drafts'
import { DecideItem, Resolve } from './ItemDialogs'
import type { Told } from './item'

const item = (of: Partial<Told>): Told =>
  ({
    id: 'i',
    kind: 'escalation',
    state: 'open',
    title: 'Sign the contract',
    subject: { kind: 'standup', id: 's', name: 'S' },
    run: null,
    ...of,
  }) as Told

let task: object

beforeEach(() => {
  session.signIn('somebody')
  dropDraft('resolution', 'i')
  vi.stubGlobal(
    'fetch',
    async () => new Response(JSON.stringify(task), { headers: { 'Content-Type': 'application/json' } }),
  )
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

function show(Form: typeof Resolve, of: Told) {
  const [act, onDone] = [vi.fn(), vi.fn()]
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  render(
    <QueryClientProvider client={cache}>
      <Form act={act} item={of} onDone={onDone} />
    </QueryClientProvider>,
  )
  return { act, onDone, cache, field: screen.getByRole<HTMLTextAreaElement>('textbox') }
}

// An escalation without a task has no other way to record what was decided.
describe('a decision on an item without a task', () => {
  it('resolves the item with its words, and is not empty', () => {
    const { act, onDone, field } = show(DecideItem, item({}))
    fireEvent.keyDown(field, { key: 'Enter', ctrlKey: true })
    expect(act).not.toHaveBeenCalled()
    fireEvent.change(field, { target: { value: ' I signed it. ' } })
    fireEvent.keyDown(field, { key: 'Enter', metaKey: true })
    expect(act).toHaveBeenCalledWith(expect.objectContaining({ id: 'i' }), { do: 'resolve', note: 'I signed it.' })
    expect(onDone).toHaveBeenCalledOnce()
  })
})

// Resolving an item must not hide a cause that is still there.
describe('the dialog that resolves an item', () => {
  const subject = { kind: 'task', id: 't7', name: 'TASK-7' }
  it.each([
    ['escalation', { blocked: { reason: 'x' } }, /TASK-7 is still blocked/],
    ['task_review', { status: 'review' }, /TASK-7 is still in Review/],
  ] as const)('of kind %s says that the task still waits', async (kind, of, want) => {
    task = { id: 't7', key: 'TASK-7', blocked: null, status: 'in_progress', ...of }
    show(Resolve, item({ kind, subject }))
    await screen.findByText(want)
  })
  it('says what ends the cause, and nothing once it is gone', async () => {
    show(Resolve, item({ kind: 'job_failed', subject: { kind: 'schedule', id: 'j', name: 'Backup' } }))
    screen.getByText(/when the next run succeeds/)
    cleanup()
    task = { id: 't7', key: 'TASK-7', blocked: null, status: 'done' }
    const { cache } = show(Resolve, item({ subject }))
    await waitFor(() => expect(cache.getQueryData(['tasks', 'one', 'TASK-7'])).toBeDefined())
    expect(screen.queryByText(/still/)).toBeNull()
  })
})
