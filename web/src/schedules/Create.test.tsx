// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { typeLetters } from '../ui/typeLetters'
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

// A schedule that was corrected must not stand as wrong.
it('a wrong cron expression is named until it is valid', async () => {
  vi.stubGlobal('fetch', async (request: Request) => {
    const { pathname, searchParams } = new URL(request.url)
    const wrong = searchParams.get('expr') === '0 25 * * *' ? 'The hour must be 0 to 23.' : undefined
    const body = pathname.endsWith('/next-runs') ? { next_runs: [], expr_invalid: wrong } : []
    return new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } })
  })
  show()
  typeLetters(screen.getByRole('combobox', { name: 'Runs' }), 'Custom')
  const field = await screen.findByLabelText('Cron expression')
  fireEvent.change(field, { target: { value: '0 25 * * *' } })
  await screen.findByText('The hour must be 0 to 23.')
  expect(field.getAttribute('aria-invalid')).toBe('true')
  fireEvent.change(field, { target: { value: '0 5 * * *' } })
  await waitFor(() => expect(screen.queryByText('The hour must be 0 to 23.')).toBeNull())
  expect(field.getAttribute('aria-invalid')).not.toBe('true')
})
