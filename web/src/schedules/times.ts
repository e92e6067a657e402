import { myZone } from '../app/format'

const formats = new Map<string, Intl.DateTimeFormat>()

/** Formats a moment briefly: Mon 23 Nov, 09:00. Defaults to the local time zone. */
export function shortIn(at: string, zone?: string): string {
  const where = zone ?? myZone()
  let format = formats.get(where)
  try {
    format ??= new Intl.DateTimeFormat('en-GB', {
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
      timeZone: where,
    })
  } catch {
    // The runtime knows this time zone, but the browser doesn't.
    return `${at.slice(0, 16).replace('T', ' ')} UTC`
  }
  formats.set(where, format)
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? at : format.format(date)
}
