// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { Keys } from './Keys'
import type { User } from './rules'

const secret = 'wrk_only_this_once'
const row = {
  id: 'k1',
  name: 'the gateway',
  hint: 'wrk_…once',
  created_at: '2026-11-20T08:00:00.000Z',
  expires_at: null,
  last_used_at: null,
  revoked_at: null,
}

let cache: QueryClient

beforeEach(() => {
  // jsdom has no animations; the dialog asks for them.
  Element.prototype.getAnimations ??= () => []
  session.signIn('somebody')
  cache = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  vi.stubGlobal('fetch', async (request: Request) => {
    const body = request.method === 'POST' ? { ...row, key: secret } : [row]
    return new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

/** Everything the page stores besides its DOM. */
const kept = () =>
  JSON.stringify([
    cache
      .getQueryCache()
      .getAll()
      .map(q => q.state),
    cache
      .getMutationCache()
      .getAll()
      .map(m => m.state),
    Object.values({ ...localStorage }),
    Object.values({ ...sessionStorage }),
    location.href,
  ])

// A secret must not stay in the page, its storage, or its address.
describe('a new key', () => {
  it('is shown once, and kept nowhere', async () => {
    const account = { id: 'u1', name: 'COO', active: true } as User
    render(
      <QueryClientProvider client={cache}>
        <Keys account={account} />
      </QueryClientProvider>,
    )
    await screen.findByText('wrk_…once')
    fireEvent.click(screen.getByRole('button', { name: 'New key' }))
    fireEvent.change(await screen.findByLabelText('Name'), { target: { value: 'the gateway' } })
    fireEvent.submit(screen.getByLabelText('Name').closest('form') as HTMLFormElement)
    await screen.findByText(secret)
    expect(kept()).not.toContain(secret)

    fireEvent.click(screen.getByRole('button', { name: 'I saved the key' }))
    await waitFor(() => expect(document.body.innerHTML).not.toContain(secret))
    fireEvent.click(screen.getByRole('button', { name: 'New key' }))
    await screen.findByLabelText('Name')
    expect(document.body.innerHTML).not.toContain(secret)
    expect(kept()).not.toContain(secret)
  })
})
