// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render } from '@testing-library/react'
import { afterEach, expect, it } from 'vitest'
import { NeverAsks } from './NeverAsks'
import { policyQuery } from './queries'

afterEach(cleanup)

const setting = 'openclaw config set tools.exec.mode ask'

// A person who waits for approvals must learn that none can come.
it.each([
  {
    mode: 'full',
    agents: [],
    says: `This gateway runs commands without asking. To make agents ask, run on the gateway’s host: ${setting}`,
  },
  { mode: 'full', agents: [{ agent_id: 'cto', mode: 'ask', asks: true }], says: '' },
  { mode: 'ask', agents: [], says: '' },
])('of a gateway in mode $mode with $agents.length agents of their own', ({ says, ...policy }) => {
  const cache = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } })
  cache.setQueryData(policyQuery.queryKey, { ...policy, setting } as never)
  const { container } = render(
    <QueryClientProvider client={cache}>
      <NeverAsks />
    </QueryClientProvider>,
  )
  expect(container.textContent).toBe(says)
})
