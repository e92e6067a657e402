import { describe, expect, it } from 'vitest'
import { choiceFor } from './choices'

const choices = ['Backlog', 'To do', 'In progress', 'Review', 'Done', 'Ready to go'].map(label => ({
  value: label.slice(0, 2),
  label,
}))

// Those who use a form by keyboard choose by typing, without opening the list.
describe('typed letters', () => {
  it.each([
    ['Ba', 'd', 'Done'],
    ['Ba', 'r', 'Review'],
    ['Re', 'r', 'Ready to go'],
    ['Re', 'rr', 'Ready to go'],
    ['Ba', 'rea', 'Ready to go'],
    ['Re', 'rev', 'Review'],
    ['Do', 'IN', 'In progress'],
    ['', 'b', 'Backlog'],
    ['Ba', 'x', undefined],
  ])('after %s, %s means %s', (value, typed, want) => expect(choiceFor(choices, value, typed)?.label).toBe(want))
})
