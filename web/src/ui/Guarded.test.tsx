// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { Guarded } from './Guarded'
import { Answer } from './Views'

afterEach(cleanup)

let broken = true
const Fragile = () => {
  if (broken) throw new Error('cannot be shown')
  return <p>shown</p>
}

// One part that can't be shown must not take the rest of the page, and people must be able to try again.
it('keeps an error within its part, until it is shown again', () => {
  vi.spyOn(console, 'error').mockReturnValue()
  broken = true
  render(
    <main>
      <p>beside</p>
      <Guarded>
        <Fragile />
      </Guarded>
    </main>,
  )
  expect(screen.getByText('beside')).toBeTruthy()
  expect(screen.getByRole('alert').textContent).toContain('Couldn’t show this part.')
  fireEvent.click(screen.getByRole('button', { name: 'Try again' }))
  expect(screen.getByRole('alert')).toBeTruthy()
  broken = false
  fireEvent.click(screen.getByRole('button', { name: 'Try again' }))
  expect(screen.getByText('shown')).toBeTruthy()
})

// Data of an unexpected form, as from another version, must not take the page, and newer data is shown by itself.
it('keeps an answer that cannot be shown within its part', () => {
  vi.spyOn(console, 'error').mockReturnValue()
  const asked = { error: null, isPending: false, dataUpdatedAt: 1, refetch: () => undefined }
  const page = (data: unknown) => (
    <Answer of={{ ...asked, data }} what="rows">
      {rows => (rows as string[]).map(row => <p key={row}>{row}</p>)}
    </Answer>
  )
  const { rerender } = render(page({ login: 'required' }))
  expect(screen.getByRole('alert')).toBeTruthy()
  rerender(page(['one']))
  expect(screen.queryByRole('alert')).toBeNull()
  expect(screen.getByText('one')).toBeTruthy()
})
