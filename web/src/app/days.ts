// Days are strings such as 2026-11-20. They have no time zone; the server decides when a day begins.

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string | undefined): Intl.DateTimeFormat {
  const name = zone ?? ''
  const known = formats.get(name)
  if (known) return known
  const days = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
  const made = new Intl.DateTimeFormat('en-CA', { ...days, ...(zone ? { timeZone: zone } : {}) })
  formats.set(name, made)
  return made
}

/** Returns whether this browser supports a time zone. */
export function knowsZone(zone: string): boolean {
  try {
    return formatOf(zone) !== null
  } catch {
    return false
  }
}

/** Returns the day of a moment (in ms) in a time zone. Defaults to the local zone, and to UTC for unsupported zones. */
export const dayIn = (at: number, zone: string | undefined): string =>
  formatOf(zone === undefined || knowsZone(zone) ? zone : 'UTC').format(at)

const length = 86_400_000

/** Returns the day that is `by` days later. Adds calendar days, so days of 23 or 25 hours don't matter. */
export const addDays = (day: string, by: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + by * length).toISOString().slice(0, 10)

/** Returns whether a string is a valid day; 2026-02-30 is not. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const at = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}
