// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { queries } from '../app/queries'
import { session } from '../app/session'
import { inbox } from '../texts/inbox'
import { ItemButtons } from './ItemButtons'
import type { Told } from './item'
import type { ItemActions } from './useItemActions'

const fetched = vi.fn(async () => new Response('{}', { headers: { 'Content-Type': 'application/json' } }))

beforeEach(() => {
  session.signIn('somebody')
  fetched.mockClear()
  vi.stubGlobal('fetch', fetched)
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

function show(kind: Told['kind'], gateway: object) {
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Number.POSITIVE_INFINITY } } })
  cache.setQueryData(queries.me.queryKey, { id: 'u', role: 'owner' })
  cache.setQueryData(queries.gateway.queryKey, gateway)
  const item = {
    id: 'i',
    kind,
    state: 'open',
    title: 'It failed',
    subject: { kind: '', id: 's', name: 'S' },
    run: null,
  }
  render(
    <QueryClientProvider client={cache}>
      <ItemButtons item={item as unknown as Told} verbs={{} as ItemActions} />
    </QueryClientProvider>,
  )
  return screen.getByRole('button')
}

// A button must not promise what the gateway cannot do now, and must work if the gateway can.
it.each([
  ['job_missed', 'runJob', 'unreachable', [], 'Gateway offline'],
  ['job_missed', 'runJob', 'missing_scopes', ['operator.admin'], 'Gateway scopes missing'],
  ['job_missed', 'runJob', 'slow', [], ''],
  ['standup_failed', 'retryStandup', 'unpaired', [], 'Gateway not paired'],
  ['standup_failed', 'retryStandup', 'missing_scopes', ['operator.admin'], ''],
  ['standup_missed', 'runStandup', 'unreachable', [], 'Gateway offline'],
  ['standup_missed', 'runStandup', 'connected', [], ''],
] as const)('%s: %s while the gateway is %s', async (kind, act, state, scopes_missing, why) => {
  const button = show(kind, { state, scopes_missing })
  expect(button.textContent).toBe(inbox.acts[act])
  expect(button.title).toBe(why)
  fireEvent.click(button)
  if (why) expect(fetched).not.toHaveBeenCalled()
  else await waitFor(() => expect(fetched).toHaveBeenCalled())
})
