// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { Composer } from './Composer'
import type { Session } from './session'

const posted: string[] = []

beforeEach(() => {
  session.signIn('somebody')
  posted.length = 0
  vi.stubGlobal('fetch', async (request: Request) => {
    if (request.method === 'POST') posted.push(await request.text())
    return new Response(JSON.stringify({ id: 'u1', role: 'owner' }), {
      headers: { 'Content-Type': 'application/json' },
    })
  })
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

// A short disconnect must not discard the text, or send keystrokes to the page's shortcuts.
describe('a message to a session', () => {
  it('keeps its focus and its text while the gateway is away, and is not sent', async () => {
    const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } })
    const of = (away: boolean) => (
      <QueryClientProvider client={cache}>
        <Composer agent="CTO" away={away} session={{ key: 'agent:cto:main', active: false } as Session} />
      </QueryClientProvider>
    )
    const { rerender } = render(of(false))
    const field = (await screen.findByRole('textbox')) as HTMLTextAreaElement
    field.focus()
    fireEvent.change(field, { target: { value: 'Half a sentence' } })
    rerender(of(true))
    expect(document.activeElement).toBe(field)
    expect(field.disabled).toBe(false)
    fireEvent.change(field, { target: { value: 'Half a sentence, and more' } })
    fireEvent.keyDown(field, { key: 'Enter', ctrlKey: true })
    fireEvent.submit(field.form as HTMLFormElement)
    expect(field.value).toBe('Half a sentence, and more')
    rerender(of(false))
    expect(posted).toEqual([])
    fireEvent.keyDown(field, { key: 'Enter', ctrlKey: true })
    await waitFor(() => expect(posted).toEqual(['{"text":"Half a sentence, and more"}']))
  })
})
