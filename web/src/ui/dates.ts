import { addDays, isDay } from '../app/days'

const utc = { timeZone: 'UTC' } as const
const formats = {
  day: new Intl.DateTimeFormat('en-GB', { ...utc, day: 'numeric', month: 'short', year: 'numeric' }),
  full: new Intl.DateTimeFormat('en-GB', { ...utc, dateStyle: 'full' }),
  month: new Intl.DateTimeFormat('en-GB', { ...utc, month: 'long', year: 'numeric' }),
}

/** Formats a day such as 2026-12-02: as 2 Dec 2026, in full, or only its month. */
export const dayText = (day: string, as: keyof typeof formats = 'day'): string =>
  isDay(day) ? formats[as].format(Date.parse(`${day}T00:00:00Z`)) : day

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const near: Record<string, number> = { yesterday: -1, today: 0, tomorrow: 1 }
const two = (n: number | string) => String(n).padStart(2, '0')

/**
 * Reads a typed day: 2026-12-02, "2 Dec 2026", "Dec 2", or "tomorrow". Returns null for anything else, also for 2/12/2026,
 * which means two different days.
 */
export function readDay(text: string, today: string): string | null {
  const typed = text.trim().toLowerCase()
  const by = near[typed]
  if (by !== undefined) return addDays(today, by)
  if (isDay(typed)) return typed
  const [, d1, m1, y1] = /^(\d{1,2})[ .]+([a-z]{3,})\.?(?:[ ,]+(\d{4}))?$/.exec(typed) ?? []
  const [, m2, d2, y2] = /^([a-z]{3,})\.? (\d{1,2})(?:,? (\d{4}))?$/.exec(typed) ?? []
  const month = months.indexOf((m1 ?? m2 ?? '').slice(0, 3)) + 1
  const day = `${y1 ?? y2 ?? today.slice(0, 4)}-${two(month)}-${two(d1 ?? d2 ?? '')}`
  return isDay(day) ? day : null
}

/** Reads a typed time: 9:30, 0930, 9, or 9:30 pm. Returns it as 09:30, or null for anything else. */
export function readTime(text: string): string | null {
  const [, h, m = '0', half] = /^(\d{1,2}?)(?:[:.]?(\d{2}))?\s*(am|pm)?$/.exec(text.trim().toLowerCase()) ?? []
  if (h === undefined) return null
  const hour = half ? (Number(h) % 12) + (half === 'pm' ? 12 : 0) : Number(h)
  if (hour > 23 || Number(m) > 59 || (half && (Number(h) < 1 || Number(h) > 12))) return null
  return `${two(hour)}:${two(m)}`
}

/** Returns the weeks of a day's month, from Monday, with the days of other months that fill them. */
export function weeksOf(day: string): string[][] {
  const first = `${day.slice(0, 8)}01`
  const monday = addDays(first, -((new Date(`${first}T00:00:00Z`).getUTCDay() + 6) % 7))
  const weeks: string[][] = []
  for (let at = monday; at.slice(0, 7) <= day.slice(0, 7); at = addDays(at, 7))
    weeks.push(Array.from({ length: 7 }, (_, i) => addDays(at, i)))
  return weeks
}

/** Returns the same day of another month, or that month's last day. */
export function addMonths(day: string, by: number): string {
  const all = Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7)) - 1 + by
  const month = `${String(Math.floor(all / 12)).padStart(4, '0')}-${two((all % 12) + 1)}`
  for (let d = Number(day.slice(8)); d > 28; d--) if (isDay(`${month}-${two(d)}`)) return `${month}-${two(d)}`
  return `${month}-${two(Math.min(28, Number(day.slice(8))))}`
}

/** Returns the day to which a key moves in a calendar, or null if the key moves nowhere. */
export function movedBy(key: string, day: string): string | null {
  const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7
  const steps: Record<string, number> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -7,
    ArrowDown: 7,
    Home: -weekday,
    End: 6 - weekday,
  }
  const by = steps[key]
  if (by !== undefined) return addDays(day, by)
  return key === 'PageUp' ? addMonths(day, -1) : key === 'PageDown' ? addMonths(day, 1) : null
}
