import { isDay, knowsZone } from './days'

/** Reads a string from the search parameters, or undefined. */
export const textParam = (v: unknown): string | undefined => (typeof v === 'string' && v !== '' ? v : undefined)

/** Reads a search text, cut to the API's limit of 200 characters, or undefined. */
export const searchParam = (v: unknown): string | undefined => {
  const text = textParam(v)
  return text && Array.from(text).slice(0, 200).join('')
}

/** Reads a day such as 2026-11-20, or undefined. */
export function dayParam(v: unknown): string | undefined {
  const day = textParam(v)
  return day && isDay(day) ? day : undefined
}

/** Reads a time zone that this browser supports, or undefined. */
export function zoneParam(v: unknown): string | undefined {
  const zone = textParam(v)
  return zone && knowsZone(zone) ? zone : undefined
}

/** Reads one of the given words, or undefined. */
export const wordParam = <T extends string>(v: unknown, words: readonly T[]): T | undefined => words.find(w => w === v)

/** Reads a comma-separated list of the given words, or undefined. */
export function wordsParam<T extends string>(v: unknown, words: readonly T[]): T[] | undefined {
  if (typeof v !== 'string') return Array.isArray(v) ? wordsParam(v.join(','), words) : undefined
  const found = words.filter(w => v.split(',').includes(w))
  return found.length > 0 ? found : undefined
}

/**
 * The search parameters of a route. Invalid ones stay as undefined keys, because the router would otherwise keep their
 * raw text.
 */
export const params = <T extends object>(of: T): { [K in keyof T]?: T[K] } => of
