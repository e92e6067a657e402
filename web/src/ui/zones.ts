import { knowsZone } from '../app/days'

/** Returns the time zones that this browser supports, the given ones first. */
export const zonesFrom = (first: readonly (string | undefined)[]): string[] => [
  ...new Set([...first.filter(z => z), ...Intl.supportedValuesOf('timeZone')] as string[]),
]

const plain = (text: string): string => text.toLowerCase().replaceAll(/[_\s]+/g, ' ')

/** Returns whether a zone contains the typed text: "new york" is in America/New_York. */
export const matchesZone = (zone: string, text: string): boolean => plain(zone).includes(plain(text.trim()))

/** Returns the zone that a typed text names, empty for none, or null if it names no zone. */
export function readZone(text: string, zones: readonly string[]): string | null {
  const typed = text.trim()
  if (typed === '') return ''
  return (
    zones.find(z => z.toLowerCase() === typed.toLowerCase()) ?? (knowsZone(typed) && /[/]/.test(typed) ? typed : null)
  )
}

/** Returns what clocks show at a moment in a time zone: 2026-12-02T09:00:00. */
export const wallIn = (at: number, zone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone: zone })
    .format(at)
    .replace(' ', 'T')

/**
 * Returns the moment at which clocks in a zone show a time such as 2026-12-02T09:00. A time that clocks skip becomes
 * one an hour later or earlier.
 */
export function instantIn(wall: string, zone: string): string {
  const wanted = Date.parse(`${wall}:00Z`)
  let at = wanted
  for (let i = 0; i < 2; i++) at += wanted - Date.parse(`${wallIn(at, zone)}Z`)
  return new Date(at).toISOString()
}
