import { expect, it } from 'vitest'
import { lineOf, quantity, suggested, tightest } from './headroom'
import type { Limit } from './limitQueries'

const limit = (of: Partial<Limit>): Limit =>
  ({
    scope: 'all',
    measure: 'usd',
    window: 'day',
    timezone: 'UTC',
    amount: '25',
    allowed: '25',
    used: '0',
    ...of,
  }) as Limit

// Otherwise people look at a limit with room while another one is about to stop the agents.
it('shows the limit of which the largest part is used', () => {
  const far = limit({ used: '20' })
  const close = limit({ measure: 'tokens', allowed: '1000', used: '990' })
  expect(tightest([limit({ window: 'run', used: null }), far, close])).toBe(close)
  expect(tightest([limit({ used: null })])).toBeUndefined()
  expect([quantity(far, '25'), quantity(far, '8.2'), quantity(close, '1500000')]).toEqual(['$25', '$8.20', '1.5M'])
})

// A line that counts other usage, or another period, than the bars would be a wrong comparison.
it('compares bars only with a limit on the same usage and period', () => {
  const report = { zone: 'UTC', bars: [{ unit: 'day' }] } as never
  const high = 10_000_000_000n
  const matching = [limit({}), limit({ amount: '30' })]
  expect(lineOf(matching, report, 'cost', high)?.value).toBe(25_000_000_000n)
  expect(lineOf(matching, report, 'tokens', high)).toBeUndefined()
  expect(lineOf(matching, report, 'cost', 6_000_000_000n)).toBeUndefined()
  for (const other of [{ scope: 'agent' }, { window: 'week' }, { timezone: 'Asia/Tokyo' }] as Partial<Limit>[])
    expect(lineOf([limit(other)], report, 'cost', high)).toBeUndefined()
  expect(lineOf([limit({ measure: 'tokens', amount: '900' })], report, 'tokens', 500n)?.value).toBe(900n)
  for (const m of ['minutes', 'calls'] as const)
    expect(lineOf([limit({ measure: m, amount: '900' })], report, 'tokens', 500n)).toBeUndefined()
})

// A limit of many times the usual day would say nothing when a run goes astray.
it('suggests three times the usual day, in a round amount', () => {
  expect(['0.001', '1.49', '4', '14', '20'].map(suggested)).toEqual([1, 5, 20, 50, 100])
  expect([suggested('0'), suggested(undefined)]).toEqual([25, 25])
})
