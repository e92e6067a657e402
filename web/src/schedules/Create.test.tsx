// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { Create } from './Create'

beforeEach(() => {
  // jsdom has no animations; the dialog asks for them.
  Element.prototype.getAnimations ??= () => []
  session.signIn(`x.${btoa('{"sub":"ada"}')}.y`)
  vi.stubGlobal('fetch', async () => new Response('[]', { headers: { 'Content-Type': 'application/json' } }))
})
afterEach(() => {
  cleanup()
  vi.unstubAllGlobals()
})

function show() {
  const onClose = vi.fn()
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Create onClose={onClose} onDone={() => undefined} open />
    </QueryClientProvider>,
  )
  const leave = () => fireEvent.keyDown(document.activeElement ?? document.body, { key: 'Escape' })
  const prompt = () => screen.getByLabelText<HTMLTextAreaElement>('Message to the agent')
  return { onClose, leave, prompt }
}

// Escape must not discard a long message.
it('a half-written job is asked about, and is there again', () => {
  const { onClose, leave, prompt } = show()
  fireEvent.change(prompt(), { target: { value: 'Look at the inbox.' } })
  leave()
  expect(onClose).not.toHaveBeenCalled()
  fireEvent.click(screen.getByRole('button', { name: 'Keep editing' }))
  expect(prompt().value).toBe('Look at the inbox.')
  // Browser back closes the dialog without asking.
  cleanup()
  const again = show()
  expect(again.prompt().value).toBe('Look at the inbox.')
  again.leave()
  fireEvent.click(screen.getByRole('button', { name: 'Discard job' }))
  expect(again.onClose).toHaveBeenCalledOnce()
  cleanup()
  const blank = show()
  expect(blank.prompt().value).toBe('')
  blank.leave()
  expect(blank.onClose).toHaveBeenCalledOnce()
})
