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

function show(kind: Told['kind'], state: string) {
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Number.POSITIVE_INFINITY } } })
  cache.setQueryData(queries.me.queryKey, { id: 'u', role: 'owner' })
  cache.setQueryData(queries.gateway.queryKey, { state })
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

// An action that the gateway carries out must not look as if it could be done without it.
it.each([
  ['job_missed', inbox.acts.runJob],
  ['standup_failed', inbox.acts.retryStandup],
  ['standup_missed', inbox.acts.runStandup],
] as const)('the button of %s says why it waits for the gateway', async (kind, label) => {
  const waits = show(kind, 'unreachable')
  expect(waits.textContent).toBe(label)
  expect(waits.title).toBe(inbox.acts.gatewayAway)
  fireEvent.click(waits)
  expect(fetched).not.toHaveBeenCalled()
  cleanup()
  fireEvent.click(show(kind, 'connected'))
  await waitFor(() => expect(fetched).toHaveBeenCalled())
})
