import { describe, expect, it } from 'vitest'
import { hueOf, hues, initialsOf } from './hue'

// An agent that changes its color between pages or versions can't be recognized by it.
describe('the color of an agent', () => {
  it('depends only on its ID', () => {
    expect(['coo', 'cto', 'cpo', 'cmo'].map(hueOf)).toEqual([1, 8, 4, 7])
  })
  it('is any of the eight, about equally often', () => {
    const counts = new Map<number, number>()
    for (let i = 0; i < 800; i++) counts.set(hueOf(`agent-${i}`), (counts.get(hueOf(`agent-${i}`)) ?? 0) + 1)
    expect([...counts.keys()].sort()).toEqual([...hues])
    expect(Math.min(...counts.values())).toBeGreaterThan(50)
  })
})

describe('the letters of a name', () => {
  it.each([
    ['COO', 'CO'],
    ['main', 'MA'],
    ['Ada Lovelace King', 'AL'],
    ['<b>x', 'BX'],
    ['  ', '?'],
    ['élan', 'ÉL'],
    ['設計', '設計'],
    ['𝒜lpha', '𝒜L'],
  ])('of %s are %s', (name, want) => expect(initialsOf(name)).toBe(want))
})
