import { expect, it } from 'vitest'
import { instantIn, matchesZone, readZone, zonesFrom } from './zones'

// A zone that cannot be found by its city would be typed wrong.
it('zones are found by a part of their name, and read once complete', () => {
  const all = zonesFrom(['Europe/Berlin', undefined, 'UTC'])
  expect(all.slice(0, 2)).toEqual(['Europe/Berlin', 'UTC'])
  expect(all.filter(z => z === 'Europe/Berlin')).toHaveLength(1)
  expect(all.filter(z => matchesZone(z, 'new york'))).toEqual(['America/New_York'])
  expect(readZone('asia/tokyo', all)).toBe('Asia/Tokyo')
  expect(readZone(' ', all)).toBe('')
  expect(readZone('Asia/Tok', all)).toBeNull()
  expect(readZone('Mars/Olympus', all)).toBeNull()
})

it.each([
  ['2026-12-02T09:00', 'Europe/Berlin', '2026-12-02T08:00:00.000Z'],
  ['2026-07-02T09:00', 'Europe/Berlin', '2026-07-02T07:00:00.000Z'],
  ['2026-12-02T09:00', 'UTC', '2026-12-02T09:00:00.000Z'],
  ['2026-12-02T01:00', 'Asia/Tokyo', '2026-12-01T16:00:00.000Z'],
  ['2026-12-02T09:00', 'America/New_York', '2026-12-02T14:00:00.000Z'],
  ['2026-10-25T12:00', 'Europe/Berlin', '2026-10-25T11:00:00.000Z'], // the day when clocks go back
])('%s in %s is %s', (wall, zone, at) => expect(instantIn(wall, zone)).toBe(at))
