import { createEvent, fireEvent } from '@testing-library/react'

/** Types letters on an element without a pause, however slow the machine is. For tests. */
export function typeLetters(on: HTMLElement, letters: string): void {
  for (const key of letters) {
    const event = createEvent.keyDown(on, { key })
    Object.defineProperty(event, 'timeStamp', { value: 1000 })
    fireEvent(on, event)
  }
}
