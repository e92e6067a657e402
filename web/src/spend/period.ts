import { addDays } from '../app/days'

export const periods = ['today', 'week', 'month', 'days'] as const
export type PeriodId = (typeof periods)[number]

/** A period: days in a time zone, `to` exclusive. */
export interface Ask {
  from: string
  to: string
  zone: string
}

/** Returns the first and last day of a period, both inclusive. */
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

/** Returns the Monday of a day's week. */
export function mondayOf(day: string): string {
  const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7
  return addDays(day, -weekday)
}
