// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { Connection } from './Gateway'

const at = '2026-11-20T08:00:00.000Z'
type Status = Parameters<typeof Connection>[0]['of']
type One = Status['connections'][number]

afterEach(cleanup)

const one = (purpose: One['purpose'], is: Partial<One>): One => ({
  purpose,
  state: 'connected',
  since: at,
  error: '',
  connected_at: at,
  last_seen_at: at,
  retry_at: null,
  scopes_asked: [],
  scopes_granted: [],
  ...is,
})

function show(connections: One[]) {
  const is = {
    state: 'connected',
    since: at,
    error: '',
    url: 'ws://127.0.0.1:18789/',
    version: '2026.9.6',
    protocol: 4,
    connected_at: at,
    last_seen_at: at,
    latency_ms: 1,
    auth: 'token',
    scopes_granted: ['operator.read', 'operator.admin'],
    connections,
    unavailable: [],
  } as unknown as Status
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Connection of={is} />
    </QueryClientProvider>,
  )
}

// Anyone who grants operator.admin must see that agents don't get it.
it('both connections are shown, each with its scopes and what is wrong with it', () => {
  show([
    one('start_runs', { scopes_granted: ['operator.read', 'operator.write'] }),
    one('manage', { state: 'unpaired', connected_at: null, scopes_asked: ['operator.admin'], error: 'It waits.' }),
  ])
  const runs = screen.getByText('Start runs').closest('li')
  expect(runs?.textContent).toContain('Connected')
  expect(runs?.textContent).toContain('Scopes: operator.read, operator.write')
  const manage = screen.getByText('Watch, stop, and schedule').closest('li')
  expect(manage?.textContent).toContain('Pairing required')
  expect(manage?.textContent).toContain('Requested scopes: operator.admin')
  expect(manage?.textContent).toContain('It waits.')
})

it('one connection is told by its facts alone', () => {
  show([one('everything', {})])
  expect(screen.queryByText('Connections')).toBeNull()
  expect(screen.getByText('operator.read, operator.admin')).toBeTruthy()
})
