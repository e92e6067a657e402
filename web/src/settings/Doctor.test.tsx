// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { Doctor } from './Doctor'

const at = '2026-11-20T08:00:00.000Z'

afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

// Without an error message, the old result would be taken for the new one.
it('an examination that fails says so, and what is shown is called old', async () => {
  session.signIn('somebody')
  let away = false
  vi.stubGlobal('fetch', async () => {
    if (away) throw new TypeError('failed to fetch')
    const exam = { at, took_ms: 5, healthy: true, failure: null, layers: [], warnings: [] }
    return new Response(JSON.stringify(exam), { headers: { 'Content-Type': 'application/json' } })
  })
  const cache = new QueryClient()
  render(
    <QueryClientProvider client={cache}>
      <Doctor state={{ state: 'connected', since: at } as Parameters<typeof Doctor>[0]['state']} />
    </QueryClientProvider>,
  )
  const again = await screen.findByRole('button', { name: 'Check again' }, { timeout: 10_000 })
  expect(screen.queryByText(/Wardroom isn’t responding/)).toBeNull()
  away = true
  fireEvent.click(again)
  await screen.findByText(/Wardroom isn’t responding\. Showing data from/)
  away = false
  fireEvent.click(again)
  await vi.waitFor(() => expect(screen.queryByText(/Wardroom isn’t responding/)).toBeNull())
})
