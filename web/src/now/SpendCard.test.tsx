// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import type { ReactNode } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import type { Schemas } from '../api/client'
import * as clock from '../app/clock'
import { configQuery } from '../app/config'
import { addDays, dayIn } from '../app/days'
import { queries } from '../app/queries'
import { activeRunsQuery } from '../spend/activeRuns'
import { todayQuery, weekQuery } from './queries'
import { SpendCard } from './SpendCard'

vi.mock('@tanstack/react-router', async original => ({
  ...(await original<object>()),
  useRouter: () => ({ history: { push: vi.fn() } }),
  Link: ({ children }: { children: ReactNode }) => <a href="/spend">{children}</a>,
}))

afterEach(cleanup)

const ago = (minutes: number) => new Date(clock.now() - minutes * 60_000).toISOString()

type Gateway = Pick<Schemas['GatewayStatus'], 'state' | 'connected_at' | 'last_seen_at'>

/** Renders the card with four dollars spent today. Returns a function that changes the gateway status. */
function show(gateway: Gateway | undefined, going: Partial<Schemas['UsageGoingRun']>[] = []) {
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } })
  const tell = (status: Gateway) => cache.setQueryData(queries.gateway.queryKey, status as Schemas['GatewayStatus'])
  const day = dayIn(clock.now(), 'UTC')
  const total = { cost_usd: '4', estimated_usd: '0', unpriced_runs: 0, runs: 3 }
  const report = (first: string) =>
    ({
      from: `${first}T00:00:00Z`,
      to: `${addDays(first, 1)}T00:00:00Z`,
      ledger_begins_at: '2026-01-01T00:00:00Z',
      followed_since: '2026-01-01T00:00:00Z',
      total,
      series: [],
      groups: [],
    }) as unknown as Schemas['UsageReport']
  cache.setQueryData(configQuery.queryKey, { timezone: 'UTC' } as never)
  cache.setQueryData(todayQuery(day).queryKey, report(day))
  cache.setQueryData(weekQuery(day).queryKey, report(addDays(day, -7)))
  cache.setQueryData(activeRunsQuery.queryKey, {
    as_of: going.length ? ago(1) : null,
    runs: going,
  } as unknown as Schemas['UsageGoing'])
  if (gateway) tell(gateway)
  render(
    <QueryClientProvider client={cache}>
      <SpendCard className="" />
    </QueryClientProvider>,
  )
  return { tell }
}

// Without its age, a total that stops growing looks like a day without spend.
it('the spend says how old it is while the gateway is away', async () => {
  const { tell } = show({ state: 'connected', connected_at: ago(90), last_seen_at: ago(0) })
  expect(screen.getAllByText('$4.00').length).toBeGreaterThan(0)
  expect(screen.queryByText(/As of/)).toBeNull()
  tell({ state: 'unreachable', connected_at: null, last_seen_at: ago(12) })
  expect((await screen.findByText(/^As of/)).textContent).toBe('As of 12 min ago, when the gateway last responded.')
  expect(screen.getAllByText('$4.00').length).toBeGreaterThan(0)
  tell({ state: 'connected', connected_at: ago(0), last_seen_at: ago(0) })
  await vi.waitFor(() => expect(screen.queryByText(/As of/)).toBeNull())
})

it('the spend says that it is old where nobody knows since when', () => {
  show({ state: 'unauthorized', connected_at: null, last_seen_at: null })
  screen.getByText(/^Gateway offline/)
})

it.each([
  ['no gateway is set', { state: 'not_configured', connected_at: null, last_seen_at: null } as Gateway],
  [
    'it is connected with fewer rights',
    { state: 'missing_scopes', connected_at: ago(3), last_seen_at: ago(0) } as Gateway,
  ],
  ['nobody has said yet how it is', undefined],
])('the spend has no age where %s', (_, gateway) => {
  show(gateway)
  expect(screen.queryByText(/As of|gateway/)).toBeNull()
})

// The ledger includes a run only when it ends.
it('the sum includes what active runs have used so far, and says how much', () => {
  show(undefined, [
    { session_key: 'agent:cto:main', cost_usd: '1.2', cost_complete: true },
    { session_key: 'agent:coo:main', cost_usd: null, cost_complete: false },
  ])
  expect(screen.getByText('$1.20 + 1 unpriced')).toBeTruthy()
  expect(screen.getByText('$5.20 + 1 unpriced')).toBeTruthy()
  const link = screen.getByRole('link', { name: 'active runs' })
  expect(link.getAttribute('href')).toBe('/sessions?state=active')
})

it('one of which nobody knows the price is not said to cost nothing, and is a click away', () => {
  show(undefined, [{ session_key: 'agent:coo:main', cost_usd: null, cost_complete: false }])
  expect(screen.getByText('unpriced')).toBeTruthy()
  expect(screen.getByRole('link', { name: 'active runs' }).getAttribute('href')).toBe('/sessions/agent%3Acoo%3Amain')
})

it('nothing is said of going runs when there is none', () => {
  show(undefined)
  expect(screen.queryByText(/so far/)).toBeNull()
})
