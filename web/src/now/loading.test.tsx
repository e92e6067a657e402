// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import type { ReactNode } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import { decisionsOf } from '../standups/decisions'
import { NoneYet } from '../standups/EmptyStates'
import type { Standup } from '../standups/standup'
import { RuntimeContents } from '../welcome/RuntimeContents'
import { activityQuery } from './queries'
import { Timeline } from './Timeline'

vi.mock('@tanstack/react-router', async original => ({
  ...(await original<object>()),
  useRouter: () => ({ history: { push: vi.fn() } }),
  useNavigate: () => vi.fn(),
  Link: ({ children }: { children: ReactNode }) => <a href="/">{children}</a>,
}))

afterEach(cleanup)

/** Renders while no answer has come, except those given. */
function loading(of: ReactNode, known: readonly [readonly unknown[], unknown][] = []) {
  vi.stubGlobal('fetch', () => new Promise(() => undefined))
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } })
  for (const [key, data] of known) cache.setQueryData(key, data)
  render(<QueryClientProvider client={cache}>{of}</QueryClientProvider>)
}

// An empty state that shows before the answer is there says something untrue.
it('the timeline is not said to be empty before its runs are known', () => {
  loading(<Timeline className="" />, [[activityQuery.queryKey, []]])
  expect(screen.queryByText('Nothing in the last 12 hours')).toBeNull()
})

it('the runtime is not said to have no agents before they are known', () => {
  loading(<RuntimeContents agents={undefined} />)
  expect(screen.queryByText(/No agents in the runtime yet/)).toBeNull()
})

it('a team is not said to have no agents before they are known', () => {
  loading(<NoneYet participants={['cto']} team="executive" />, [[['gateway', 'status'], { state: 'unreachable' }]])
  expect(screen.queryByText('No standups or agents yet')).toBeNull()
})

it('an escalation is not said to be settled before the inbox is known', () => {
  const standup = { escalations: [{ task: null, title: 'Stuck', detail: '' }], blockers: [] } as unknown as Standup
  expect(decisionsOf(standup, undefined).settled).toEqual([])
})
