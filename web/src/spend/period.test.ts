import { describe, expect, it } from 'vitest'
import { addDays, askOf, dayIn, dayParam, daysOf, knowsZone, mondayOf } from './period'

// A day that is counted twice, or left out, makes a month cost what it did not.
describe('days', () => {
  it.each([
    ['2026-11-20T23:30:00Z', 'Asia/Tokyo', '2026-11-21'],
    ['2026-11-20T04:30:00Z', 'America/New_York', '2026-11-19'],
    // The hour that comes twice belongs to one day, both times.
    ['2026-10-25T00:30:00Z', 'Europe/Berlin', '2026-10-25'],
    ['2026-10-25T01:30:00Z', 'Europe/Berlin', '2026-10-25'],
    ['2026-10-25T22:59:59Z', 'Europe/Berlin', '2026-10-25'],
    ['2026-10-25T23:00:00Z', 'Europe/Berlin', '2026-10-26'],
    ['2026-03-29T00:59:59Z', 'Europe/Berlin', '2026-03-29'],
    ['2026-11-20T12:00:00Z', 'Not/AZone', '2026-11-20'],
  ])('%s is in %s on %s', (at, zone, day) => expect(dayIn(Date.parse(at), zone)).toBe(day))

  it('are counted as days of the calendar, whatever their length', () => {
    expect(addDays('2026-03-28', 1)).toBe('2026-03-29')
    expect(addDays('2026-03-29', 1)).toBe('2026-03-30')
    expect(addDays('2026-10-25', 1)).toBe('2026-10-26')
    expect(addDays('2026-01-01', -1)).toBe('2025-12-31')
    expect(addDays('2028-02-28', 1)).toBe('2028-02-29')
  })
  it('begin their week on a Monday', () => {
    expect(mondayOf('2026-11-16')).toBe('2026-11-16')
    expect(mondayOf('2026-11-22')).toBe('2026-11-16')
  })
  it.each(['2026-02-30', '2026-13-01', '20261120', 'today', undefined, 7])('%s is none', v =>
    expect(dayParam(v)).toBeUndefined(),
  )
  it('know their zone or not', () => {
    expect(knowsZone('Europe/Berlin')).toBe(true)
    expect(knowsZone('Not/AZone')).toBe(false)
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
