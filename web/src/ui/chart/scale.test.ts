import { describe, expect, it } from 'vitest'
import { labelStep, part, reach, stack, ticks } from './scale'

// The scale must include the highest bar, and bars must show all parts.
describe('ticks', () => {
  it.each([
    [0n, 0n, [0n]],
    [0n, 4n, [0n, 1n, 2n, 3n, 4n]],
    [0n, 4_120_000_000n, [0n, 2_000_000_000n, 4_000_000_000n, 6_000_000_000n]],
    [0n, 1n, [0n, 1n]],
    [-30n, 100n, [-50n, 0n, 50n, 100n]],
    [-3n, 0n, [-3n, -2n, -1n, 0n]],
  ])('from %s to %s are %o', (least, most, want) => expect(ticks(least, most)).toEqual(want))

  it('are few and round, hold everything, and have zero, however large it is', () => {
    for (let most = 1n; most < 10n ** 19n; most = most * 3n + 1n) {
      for (const least of [0n, -most / 7n, -most * 2n]) {
        const list = ticks(least, most)
        expect(list.length).toBeLessThanOrEqual(8)
        expect(list[0] ?? 1n).toBeLessThanOrEqual(least)
        expect(list.at(-1) ?? 0n).toBeGreaterThanOrEqual(most)
        expect(list).toContain(0n)
        const step = String((list[1] ?? 0n) - (list[0] ?? 0n))
        expect(step).toMatch(/^[125]0*$/)
      }
    }
  })
})

describe('a stack', () => {
  it('puts parts on top of each other, and what is below zero below it', () => {
    expect(stack([3n, 0n, 2n, -4n, 1n, -1n])).toEqual([
      { from: 0n, to: 3n },
      { from: 3n, to: 3n },
      { from: 3n, to: 5n },
      { from: 0n, to: -4n },
      { from: 5n, to: 6n },
      { from: -4n, to: -5n },
    ])
    expect(reach([[3n, 2n], [1n, -4n], []])).toEqual({ least: -4n, most: 5n })
  })
  it('keeps its place on the screen for amounts that no float can hold', () => {
    expect(part(90071992547409931234n, 0n, 90071992547409931234n * 2n)).toBe(0.5)
    expect(part(5n, 5n, 5n)).toBe(0)
  })
})

describe('labels', () => {
  it.each([
    [7, 1000, 50, 1],
    [31, 280, 50, 7],
    [24, 300, 40, 4],
    [48, 250, 40, 8],
    [1, 10, 40, 1],
    [48, 10, 40, 48],
  ])('of %d bars in %d px of %d each stand under every %sth', (bars, room, label, want) =>
    expect(labelStep(bars, room, label)).toBe(want),
  )
})
