import { describe, expect, it } from 'vitest'
import { addMonths, dayText, movedBy, readDay, readTime, weeksOf } from './dates'

// A day that is read as another one sets a wrong due date without a word.
describe('a typed day', () => {
  it.each([
    ['2026-12-02', '2026-12-02'],
    ['2 Dec 2026', '2026-12-02'],
    [' 2 december ', '2026-12-02'],
    ['2. dec. 2027', '2027-12-02'],
    ['Dec 2', '2026-12-02'],
    ['December 2, 2027', '2027-12-02'],
    ['tomorrow', '2026-12-01'],
    ['today', '2026-11-30'],
    ['29 Feb 2028', '2028-02-29'],
    ['29 Feb 2027', null],
    ['2/12/2026', null],
    ['2026-13-01', null],
    ['2 foo', null],
    ['', null],
  ])('%s is %s', (text, want) => expect(readDay(text, '2026-11-30')).toBe(want))
  it('can be read as it is written', () => expect(readDay(dayText('2026-09-05'), '2020-01-01')).toBe('2026-09-05'))
})

describe('a typed time', () => {
  it.each([
    ['9:30', '09:30'],
    ['09:30', '09:30'],
    ['0930', '09:30'],
    ['930', '09:30'],
    ['9', '09:00'],
    ['21', '21:00'],
    ['21.15', '21:15'],
    ['12 am', '00:00'],
    ['12:30pm', '12:30'],
    ['9 PM', '21:00'],
    ['24:00', null],
    ['13 pm', null],
    ['9:60', null],
    ['9:3', null],
    ['soon', null],
    ['', null],
  ])('%s is %s', (text, want) => expect(readTime(text)).toBe(want))
})

describe('a calendar', () => {
  it('has the whole weeks of a month, from Monday', () => {
    expect(weeksOf('2026-11-23').map(w => [w[0], w[6]])).toEqual([
      ['2026-10-26', '2026-11-01'],
      ['2026-11-02', '2026-11-08'],
      ['2026-11-09', '2026-11-15'],
      ['2026-11-16', '2026-11-22'],
      ['2026-11-23', '2026-11-29'],
      ['2026-11-30', '2026-12-06'],
    ])
    expect(weeksOf('2027-02-10')).toHaveLength(4)
  })
  it.each([
    ['ArrowLeft', '2026-11-30'],
    ['ArrowDown', '2026-12-08'],
    ['Home', '2026-11-30'],
    ['End', '2026-12-06'],
    ['PageUp', '2026-11-01'],
    ['PageDown', '2027-01-01'],
    ['a', null],
  ])('%s moves from 1 Dec 2026 to %s', (key, want) => expect(movedBy(key, '2026-12-01')).toBe(want))
  it('has no 31 February', () => {
    expect(addMonths('2027-01-31', 1)).toBe('2027-02-28')
    expect(addMonths('2028-03-31', -1)).toBe('2028-02-29')
    expect(addMonths('2026-10-31', 3)).toBe('2027-01-31')
  })
})
