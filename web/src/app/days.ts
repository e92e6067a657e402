// Days are texts such as 2026-11-20: a day of the calendar has no zone, and where it begins in one is the service's to say.

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

/** Whether this browser knows the days of a zone. */
export function knowsZone(zone: string): boolean {
  try {
    return formatOf(zone) !== null
  } catch {
    return false
  }
}

/**
 * The day that a moment, in ms, belongs to in a zone. Without a zone it is that of
 * whoever looks; in one that the browser does not know, UTC's.
 */
export const dayIn = (at: number, zone: string | undefined): string =>
  formatOf(zone === undefined || knowsZone(zone) ? zone : 'UTC').format(at)

const length = 86_400_000

/** Another day, so many later. Days are counted, not hours, so that one of 23 or 25 hours is a day like any other. */
export const addDays = (day: string, by: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + by * length).toISOString().slice(0, 10)

/** Whether a text is a day; 2026-02-30 is none. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const at = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}
