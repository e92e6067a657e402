import { dayIn } from '../app/days'

const lastMoment = 'T23:59:59.999Z'

/**
 * Returns the day on which a task is due. The last millisecond of a day in UTC stands for that day in every zone; any
 * other time counts as its day in the server's zone.
 */
export const dueDay = (at: string, zone: string | undefined): string =>
  at.endsWith(lastMoment) ? at.slice(0, 10) : dayIn(Date.parse(at), zone ?? 'UTC')

/** Returns the due time for a day; undefined for an implausible day. */
export function dueAt(day: string): string | null | undefined {
  if (day === '') return null
  const year = Number(day.slice(0, 4))
  return year >= 2000 && year <= 9999 ? day + lastMoment : undefined
}

/** Returns the tags in a text with commas, each once. */
export const tagsIn = (text: string): string[] => [...new Set(text.split(',').map(t => t.trim()))].filter(Boolean)

/** Returns the lines of a text, without empty ones, each once. */
export const linesIn = (text: string): string[] => [...new Set(text.split('\n').map(t => t.trim()))].filter(Boolean)
