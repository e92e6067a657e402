import { describe, expect, it } from 'vitest'
import { changeText, comparison, forecastText, perRun } from './compare'
import type { Report } from './sums'

const dollars = (n: number) => BigInt(Math.round(n * 1e9))

// A wrong sign or base would report savings as a rise.
it.each([
  [11.2, 10, '12% more than'],
  [8.8, 10, '12% less than'],
  [10, 10, 'The same as'],
  [10.04, 10, 'About the same as'],
  [0, 10, '100% less than'],
  [36, 10, '3.6 times as much as'],
  [300, 10, '30 times as much as'],
  [5, 0, 'After $0 in'],
])('%d after %d is "%s"', (now, before, want) => expect(changeText(dollars(now), dollars(before))).toBe(want))

describe('the comparison', () => {
  const report = (cost: string | null, before: string | null) =>
    ({
      total: {
        cost_usd: cost,
        estimated_usd: '0',
        runs: 5,
        unpriced_runs: 1,
        corrections: 0,
        tokens: { input: 0, output: 0, cache_read: 0, cache_write: 0, other: 0 },
      },
      previous: before === null ? null : { cost_usd: before },
    }) as unknown as Report

  it('names the period before', () => {
    expect(comparison(report('12', '10'), '12', 7, true)).toBe('20% more than the 7 days before')
    expect(comparison(report('12', '10'), '12', 1, true)).toBe('20% more than yesterday by this time')
    expect(comparison(report('12', '10'), '12', 1, false)).toBe('20% more than the day before')
  })
  it('is left out if a cost is unknown', () => {
    expect(comparison(report('12', null), '12', 7, true)).toBeNull()
    expect(comparison(report(null, '10'), null, 7, true)).toBeNull()
  })
  it('leaves unpriced runs out of the cost per run', () => {
    expect(perRun(report('12', null))).toBe('3')
    expect(perRun({ ...report(null, null), total: { ...report(null, null).total, runs: 1 } })).toBeNull()
  })
})

// More digits would promise what nobody knows.
it.each([
  ['38.49', '$38'],
  ['1234.5', '$1,235'],
  ['3.456', '$3.46'],
])('a forecast of %s is shown as %s', (cost, want) => expect(forecastText(cost)).toBe(want))
