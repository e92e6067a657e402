// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { configQuery } from '../app/config'
import { Due } from './Bits'
import type { TaskCard } from './task'

afterEach(() => {
  cleanup()
  vi.useRealTimers()
})

// A task that is due today has the whole day, by the team's clock, wherever it is shown.
it.each([
  ['2026-12-10T23:59:59.999Z', '2026-12-11T02:00Z', 'America/Los_Angeles', false],
  ['2026-12-10T23:59:59.999Z', '2026-12-11T08:00Z', 'America/Los_Angeles', true],
  ['2026-12-10T23:59:59.999Z', '2026-12-10T14:59Z', 'Asia/Tokyo', false],
  ['2026-12-10T23:59:59.999Z', '2026-12-10T15:00Z', 'Asia/Tokyo', true],
  ['2026-12-10T18:00:00.000Z', '2026-12-10T19:11Z', 'UTC', false],
  ['2026-12-10T18:00:00.000Z', '2026-12-11T00:00Z', 'UTC', true],
])('due %s is at %s in %s overdue: %s', (due_at, at, timezone, late) => {
  vi.useFakeTimers({ now: new Date(at), toFake: ['Date'] })
  const cache = new QueryClient()
  cache.setQueryData(configQuery.queryKey, { timezone } as never)
  render(
    <QueryClientProvider client={cache}>
      <Due task={{ due_at, status: 'todo' } as TaskCard} />
    </QueryClientProvider>,
  )
  expect(screen.getByText(/10 Dec/)).toBeTruthy()
  expect(screen.queryByText(/Overdue/) !== null).toBe(late)
})
