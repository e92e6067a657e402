import { addDays } from '../app/days'

export const periods = ['today', 'week', 'month', 'days'] as const
type PeriodId = (typeof periods)[number]

/** A period: days in a time zone, `to` exclusive. */
export interface Ask {
  from: string
  to: string
  zone: string
}

/** The first and last day of a period, both inclusive. */
export interface Days {
  first: string
  last: string
}

/** Returns the days of a period. */
export function daysOf(
  search: { period?: PeriodId | undefined; from?: string | undefined; to?: string | undefined },
  today: string,
): Days {
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

export const askOf = (days: Days, zone: string): Ask => ({
  from: days.first,
  to: addDays(days.last, 1),
  zone,
})

/** Returns the number of days in a period. */
export const dayCount = (days: Days): number =>
  Math.round((Date.parse(days.last) - Date.parse(days.first)) / 86_400_000) + 1
