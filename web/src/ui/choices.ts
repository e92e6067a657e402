import type { ReactNode } from 'react'
import { comparable } from '../app/comparable'

export interface Choice {
  value: string
  label: string
  /** An icon or a face before the label. */
  mark?: ReactNode
}

/**
 * Returns the choice that typed letters mean: the next one that starts with them. The same letter again moves on to the
 * following choice.
 */
export function choiceFor(choices: readonly Choice[], value: string, typed: string): Choice | undefined {
  const text = comparable(typed)
  const repeated = [...text].every(letter => letter === text[0])
  const from = Math.max(
    0,
    choices.findIndex(c => c.value === value),
  )
  const first = repeated ? from + 1 : from
  const wanted = repeated ? text.slice(0, 1) : text
  return [...choices.slice(first), ...choices.slice(0, first)].find(c => comparable(c.label).startsWith(wanted))
}
