import { myZone } from '../app/format'

const formats = new Map<string, Intl.DateTimeFormat>()

const looks = {
  time: { hour: '2-digit', minute: '2-digit' },
  weekday: { weekday: 'short', hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  long: { weekday: 'long' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>

/** Formats a moment briefly: 08:06, Thu 08:06, 12 Nov. Defaults to the local time zone. */
export function clock(at: string | number, zone: string | undefined, look: keyof typeof looks = 'time'): string {
  const name = `${look} ${zone}`
  const known =
    formats.get(name) ?? new Intl.DateTimeFormat('en-GB', { ...looks[look], ...(zone ? { timeZone: zone } : {}) })
  formats.set(name, known)
  return known.format(typeof at === 'string' ? Date.parse(at) : at).replace(',', '')
}

/** Formats a moment in the local time zone, and in the server's where it differs: 07:06 (05:06 UTC). */
export function clocks(at: string, service: string | undefined): string {
  const mine = clock(at, undefined)
  if (!service || service === myZone()) return mine
  const theirs = clock(at, service)
  return theirs === mine ? mine : `${mine} (${theirs} ${service})`
}

/** Returns the hour of the day in a time zone, 0 to 23. */
export const hourIn = (at: number, zone: string | undefined): number => Number(clock(at, zone).slice(0, 2))
