export const periods = ['today', 'week', 'month', 'days'] as const
export type PeriodId = (typeof periods)[number]

/** What is asked of the ledger: days of a zone, from the first until the one that is not in it any more. */
export interface Ask {
  from: string
  to: string
  zone: string
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Whether this browser knows the days of a zone. The service says what is wrong with any other. */
export function knowsZone(zone: string): boolean {
  try {
    formatOf(zone)
    return true
  } catch {
    return false
  }
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' })
  formats.set(zone, made)
  return made
}

/** The day that a moment belongs to in a zone, such as 2026-11-20. */
export const dayIn = (now: number, zone: string): string => formatOf(knowsZone(zone) ? zone : 'UTC').format(now)

const dayLength = 86_400_000

/**
 * Another day of the calendar. Days are counted, not hours, so that one of 23 or
 * 25 hours is a day like any other; where it begins in a zone is the service's to say.
 */
export function addDays(day: string, by: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + by * dayLength).toISOString().slice(0, 10)
}

/** A day as an address may name it; undefined for what is none, such as 2026-02-30. */
export function dayParam(v: unknown): string | undefined {
  if (typeof v !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(v)) return undefined
  const at = Date.parse(`${v}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(v) ? v : undefined
}

/** The first and the last day of a period; both are in it. */
export function daysOf(
  search: { period?: PeriodId | undefined; from?: string | undefined; to?: string | undefined },
  today: string,
): { first: string; last: string } {
  switch (search.period ?? 'week') {
    case 'today':
      return { first: today, last: today }
    case 'week':
      return { first: addDays(today, -6), last: today }
    case 'month':
      return { first: `${today.slice(0, 8)}01`, last: today }
    case 'days': {
      const last = search.to ?? today
      return { first: search.from ?? addDays(last, -29), last }
    }
  }
}

export const askOf = (days: { first: string; last: string }, zone: string): Ask => ({
  from: days.first,
  to: addDays(days.last, 1),
  zone,
})

/** The Monday of the week of a day. */
export function mondayOf(day: string): string {
  const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7
  return addDays(day, -weekday)
}
