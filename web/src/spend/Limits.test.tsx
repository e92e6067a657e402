// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { typeLetters } from '../ui/typeLetters'
import { LimitForm } from './LimitForm'
import { LimitsTab } from './Limits'

let role = 'owner'
const created: unknown[] = []
const changed: unknown[] = []
let limits: object[] = []

beforeEach(() => {
  session.signIn('somebody')
  created.length = 0
  changed.length = 0
  limits = []
  vi.stubGlobal('fetch', async (request: Request) => {
    const path = new URL(request.url, 'http://x').pathname
    if (request.method === 'POST' && path === '/api/v1/limits') created.push(await request.json())
    if (request.method === 'PATCH' || request.method === 'DELETE') {
      const body = request.method === 'PATCH' ? await request.json() : null
      changed.push([request.method, request.headers.get('If-Match'), body])
      if (body === null) return new Response(null, { status: 204 })
    }
    const answer =
      path === '/api/v1/auth/me'
        ? { id: 'u1', name: 'Ada', role }
        : path === '/api/v1/agents'
          ? [{ agent_id: 'cto', name: 'CTO' }]
          : { limits }
    return new Response(JSON.stringify(answer), { headers: { 'Content-Type': 'application/json' } })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

const show = (of = <LimitsTab />) =>
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      {of}
    </QueryClientProvider>,
  )

/** A limit on the CTO that only tells. */
const told = (used: string) => ({
  ...{ id: 'l1', version: 3, scope: 'agent', scope_id: 'cto', window: 'day', action: 'tell', used },
  ...{ measure: 'usd', amount: '5', allowed: '5', measurable: true, unpriced_runs: 0 },
})

// Without a start that costs one click, most teams have no limit when the first run goes astray.
it('offers the first limits with one click, which stop nothing', async () => {
  role = 'owner'
  show()
  fireEvent.click(await screen.findByRole('button', { name: 'Warn at $25 a day and $5 a run' }))
  await waitFor(() => expect(created).toHaveLength(2))
  expect(created).toEqual([
    { scope: 'all', measure: 'usd', amount: '25', window: 'day', action: 'tell' },
    { scope: 'all', measure: 'usd', amount: '5', window: 'run', action: 'tell' },
  ])
})

// An agent can burn a day with many short runs, which no limit on each run stops.
it('offers model calls for a week', async () => {
  role = 'owner'
  show()
  fireEvent.click(await screen.findByRole('button', { name: 'New limit' }))
  const type = (name: string, letters: string) => {
    const select = screen.getByRole('combobox', { name })
    typeLetters(select, letters)
    return select.textContent
  }
  await screen.findByRole('combobox', { name: 'Unit' })
  expect(type('Per', 'Week')).toBe('Week')
  expect(type('Unit', 'Model')).toBe('Model calls')
  fireEvent.click(screen.getByRole('button', { name: 'Create limit' }))
  await waitFor(() => expect(created).toContainEqual(expect.objectContaining({ measure: 'calls', window: 'week' })))
})

// A limit on a run that is meant for all runs would stop the others, too.
it('limits one run, and stops it by default', async () => {
  role = 'owner'
  show(<LimitForm onClose={() => {}} run="run-1" />)
  expect(screen.queryByRole('combobox', { name: 'Per' })).toBeNull()
  fireEvent.click(await screen.findByRole('button', { name: 'Create limit' }))
  await waitFor(() => expect(created).toHaveLength(1))
  expect(created).toEqual([
    { scope: 'run', scope_id: 'run-1', measure: 'usd', amount: '5', window: 'run', action: 'stop' },
  ])
})

// A limit that was exceeded would look like one that was just reached.
it('shows by how much a limit is exceeded, and names its agent', async () => {
  role = 'owner'
  const amounts = { measure: 'usd', amount: '5', allowed: '5', used: '5.6', measurable: true, unpriced_runs: 0 }
  limits = [{ id: 'l1', version: 1, scope: 'agent', scope_id: 'cto', window: 'day', action: 'stop', ...amounts }]
  show()
  await screen.findByText('CTO: $5 per day')
  expect(screen.getByRole('img', { name: 'CTO: $5 per day: 112%' })).toBeTruthy()
  expect(screen.getByText('$5.60 of $5')).toBeTruthy()
})

// A limit that only tells is read too late: the runs have to be stoppable there.
it.each([
  ['4.5', 'Stop runs at 100%: CTO: $5 per day'],
  ['5.6', 'Stop runs: CTO: $5 per day'],
])('stops runs at a limit of $5 that only told, at $%s', async (used, button) => {
  role = 'owner'
  limits = [told(used)]
  show()
  fireEvent.click(await screen.findByRole('button', { name: button }))
  await waitFor(() => expect(changed).toEqual([['PATCH', '"3"', { action: 'stop' }]]))
  expect(screen.getByText(/Runs continue/)).toBeTruthy()
})

it('changes and deletes a limit in one dialog, and offers no stop far below it', async () => {
  role = 'owner'
  limits = [told('1')]
  show()
  fireEvent.click(await screen.findByRole('button', { name: 'Change limit: CTO: $5 per day' }))
  expect(screen.queryByRole('button', { name: /^Stop runs/ })).toBeNull()
  fireEvent.change(await screen.findByRole('textbox', { name: 'Amount' }), { target: { value: '7' } })
  fireEvent.click(screen.getByRole('button', { name: 'Save limit' }))
  await waitFor(() => expect(changed).toEqual([['PATCH', '"3"', { amount: '7' }]]))
  fireEvent.click(await screen.findByRole('button', { name: 'Change limit: CTO: $5 per day' }))
  fireEvent.click(await screen.findByRole('button', { name: 'Delete limit' }))
  await waitFor(() => expect(changed.at(-1)).toEqual(['DELETE', '"3"', null]))
})

it('offers none to those who may not change limits', async () => {
  role = 'user'
  show()
  await screen.findByText('No limits')
  await screen.findByRole('note')
  expect(screen.queryByRole('button')).toBeNull()
})
