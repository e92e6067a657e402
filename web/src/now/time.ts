import { myZone } from '../app/format'

const formats = new Map<string, Intl.DateTimeFormat>()

const looks = {
  time: { hour: '2-digit', minute: '2-digit' },
  weekday: { weekday: 'short', hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  long: { weekday: 'long' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>

/** A moment in a zone, as short as can be: 08:06, Thu 08:06, 12 Nov. The zone of whoever looks when none is given. */
export function clock(at: string | number, zone: string | undefined, look: keyof typeof looks = 'time'): string {
  const name = `${look} ${zone}`
  const known =
    formats.get(name) ?? new Intl.DateTimeFormat('en-GB', { ...looks[look], ...(zone ? { timeZone: zone } : {}) })
  formats.set(name, known)
  return known.format(typeof at === 'string' ? Date.parse(at) : at).replace(',', '')
}

/** The same in the zone of whoever looks, and in the service's with its name where that is another: 07:06 (05:06 UTC). */
export function clocks(at: string, service: string | undefined): string {
  const mine = clock(at, undefined)
  if (!service || service === myZone()) return mine
  const theirs = clock(at, service)
  return theirs === mine ? mine : `${mine} (${theirs} ${service})`
}

/** The hour of the day in a zone, 0 to 23. */
export const hourIn = (at: number, zone: string | undefined): number => Number(clock(at, zone).slice(0, 2))
