import { describe, expect, it } from 'vitest'
import { askOf, dayCount, daysOf } from './period'

// A day counted twice or not at all would change a month's cost.
describe('a period', () => {
  const today = '2026-11-20'
  it.each([
    [{ period: 'today' }, '2026-11-20', '2026-11-20'],
    [{}, '2026-11-14', '2026-11-20'],
    [{ period: 'month' }, '2026-11-01', '2026-11-20'],
    [{ period: 'days', from: '2026-10-01', to: '2026-10-31' }, '2026-10-01', '2026-10-31'],
    [{ period: 'days', to: '2026-10-31' }, '2026-10-02', '2026-10-31'],
    [{ period: 'days' }, '2026-10-22', '2026-11-20'],
  ] as const)('%o goes from %s to %s', (search, first, last) => expect(daysOf(search, today)).toEqual({ first, last }))
  it('counts its days, also over a change of the clocks', () =>
    expect(dayCount({ first: '2026-10-20', last: '2026-10-26' })).toBe(7))
  it('asks for the day after its last', () =>
    expect(askOf({ first: '2026-10-25', last: '2026-10-25' }, 'Europe/Berlin')).toEqual({
      from: '2026-10-25',
      to: '2026-10-26',
      zone: 'Europe/Berlin',
    }))
})
