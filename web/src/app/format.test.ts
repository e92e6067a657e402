import { describe, expect, it } from 'vitest'
import { age, cost, fineMoney, moment, money, nanos, span, tokens } from './format'

// Rounding to zero, or showing unknown as zero, would misstate costs.
describe('money', () => {
  it.each([
    [null, 'unknown'],
    ['', 'unknown'],
    ['1e5', 'unknown'],
    ['0', '$0'],
    ['0.000000001', '<$0.01'],
    ['0.0099', '<$0.01'],
    ['0.028314', '$0.03'],
    ['0.1', '$0.10'],
    ['4.125', '$4.13'],
    ['999.994', '$999.99'],
    ['12345.6', '$12,345.60'],
    ['-0.5', '−$0.50'],
    ['90071992547.409931234', '$90,071,992,547.41'],
  ])('%s is %s', (usd, want) => expect(money(usd)).toBe(want))

  it.each([
    [null, 'unknown'],
    ['0', '$0'],
    ['0.0005', '$0.0005'],
    ['0.075', '$0.075'],
    ['0.00004', '<$0.01'],
    ['0.5', '$0.50'],
    ['12.345', '$12.35'],
  ])('%s is %s as a price', (usd, want) => expect(fineMoney(usd)).toBe(want))

  it('keeps every digit that a float would lose', () =>
    expect(nanos('90071992547.409931234')).toBe(90071992547409931234n))

  it('says what has no price', () => {
    expect(cost({ cost_usd: '1.5', unpriced_runs: 0, runs: 3 })).toBe('$1.50')
    expect(cost({ cost_usd: '1.5', unpriced_runs: 2, runs: 3 })).toBe('$1.50 + 2 unpriced')
    expect(cost({ cost_usd: null, unpriced_runs: 3, runs: 3 })).toBe('unpriced')
    expect(cost({ cost_usd: '0', unpriced_runs: 1, runs: 0 })).toBe('unpriced')
    expect(cost({ cost_usd: '40', unpriced_runs: 1, runs: 1 })).toBe('$40.00 + 1 unpriced')
    expect(cost({ cost_usd: '0', unpriced_runs: 0, runs: 0 })).toBe('$0')
  })
})

describe('counts and times', () => {
  it.each([
    [null, 'unknown'],
    [0, '0'],
    [812, '812'],
    [999, '999'],
    [999.9, '1k'],
    [1234, '1.2k'],
    [34_000, '34k'],
    [999_960, '1M'],
    [1_250_000, '1.3M'],
  ])('%s tokens are %s', (n, want) => expect(tokens(n)).toBe(want))
  it.each([
    [8_000, '8 s'],
    [59_999, '59 s'],
    [300_000, '5 min'],
    [12_000_000, '3 h 20 min'],
    [40_000_000, '11 h'],
    [86_400_000, '1 d'],
    [170_000_000, '1 d 23 h'],
    [360_000_000, '4 d'],
    [-5, '0 s'],
  ])('%d ms are %s', (ms, want) => expect(span(ms)).toBe(want))
  it('tells what was and what will be', () => {
    const now = Date.parse('2026-11-20T08:00:00Z')
    expect(age('2026-11-20T07:55:00Z', now)).toBe('5 min')
    expect(age('2026-11-19T01:00:00Z', now)).toBe('1 d')
    expect(age('2026-11-20T08:05:00Z', now)).toBe('in 5 min')
    expect(age('never', now)).toBe('unknown')
  })
  it('reads a moment in the zone of the service', () =>
    expect(moment('2026-11-20T23:30:00Z', 'Asia/Tokyo')).toBe('Sat, 21 Nov 2026, 08:30:00'))
})
