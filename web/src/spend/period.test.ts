import { describe, expect, it } from 'vitest'
import { askOf, daysOf, mondayOf } from './period'

// A day counted twice or not at all would change a month's cost.
describe('days', () => {
  it('begin their week on a Monday', () => {
    expect(mondayOf('2026-11-16')).toBe('2026-11-16')
    expect(mondayOf('2026-11-22')).toBe('2026-11-16')
  })
})

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
  it('asks for the day after its last', () =>
    expect(askOf({ first: '2026-10-25', last: '2026-10-25' }, 'Europe/Berlin')).toEqual({
      from: '2026-10-25',
      to: '2026-10-26',
      zone: 'Europe/Berlin',
    }))
})
