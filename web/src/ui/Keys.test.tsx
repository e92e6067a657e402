// @vitest-environment jsdom
import { render } from '@testing-library/react'
import { expect, it } from 'vitest'
import { Keys } from './Keys'

// A key that breaks at its hyphen reads as two things.
it('keeps each key on one line, and all of the text', () => {
  const { container } = render(<Keys>TASK-7 waits for OPS-12, not for e-mail</Keys>)
  expect(container.textContent).toBe('TASK-7 waits for OPS-12, not for e-mail')
  expect([...container.querySelectorAll('.whitespace-nowrap')].map(e => e.textContent)).toEqual(['TASK-7', 'OPS-12'])
})
