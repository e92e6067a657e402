import { describe, expect, it } from 'vitest'
import { addDays, dayIn, isDay, knowsZone } from './days'
import { dayParam, searchParam, zoneParam } from './searchParams'

// A day counted twice or not at all would change a month's cost.
describe('days', () => {
  it.each([
    ['2026-11-20T23:30:00Z', 'Asia/Tokyo', '2026-11-21'],
    ['2026-11-20T04:30:00Z', 'America/New_York', '2026-11-19'],
    // The repeated hour at the end of daylight saving time belongs to one day.
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
    expect(addDays('2026-10-26', -1)).toBe('2026-10-25')
    expect(addDays('2026-01-01', -1)).toBe('2025-12-31')
    expect(addDays('2028-02-28', 1)).toBe('2028-02-29')
  })
  it('know their zone or not', () => {
    expect(knowsZone('Europe/Berlin')).toBe(true)
    expect(knowsZone('Not/AZone')).toBe(false)
  })
  it.each(['2026-02-30', '2026-13-01', '20261120', 'today'])('%s is none', text => expect(isDay(text)).toBe(false))
})

describe('an address', () => {
  it.each(['2026-02-30', 'yesterday', undefined, 7])('names no day by %s', v => expect(dayParam(v)).toBeUndefined())
  it('names a day', () => expect(dayParam('2026-11-20')).toBe('2026-11-20'))
  it('names zones that there are', () => {
    expect(zoneParam('Asia/Tokyo')).toBe('Asia/Tokyo')
    expect(zoneParam('Mars/Phobos')).toBeUndefined()
    expect(zoneParam('')).toBeUndefined()
  })
  it('asks for no more than the API takes, and cuts no character in two', () => {
    expect(searchParam('🙂'.repeat(300))).toBe('🙂'.repeat(200))
    expect(searchParam('')).toBeUndefined()
  })
})
