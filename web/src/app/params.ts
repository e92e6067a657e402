import { isDay, knowsZone } from './days'

/** A text of the address, or undefined; whoever reads search parameters begins here. */
export const textParam = (v: unknown): string | undefined => (typeof v === 'string' && v !== '' ? v : undefined)

/** What is looked for, cut to the 200 characters that the API takes, or undefined. */
export const searchParam = (v: unknown): string | undefined => {
  const text = textParam(v)
  return text && Array.from(text).slice(0, 200).join('')
}

/** A day, such as 2026-11-20, or undefined. */
export function dayParam(v: unknown): string | undefined {
  const day = textParam(v)
  return day && isDay(day) ? day : undefined
}

/** A time zone that this browser knows, or undefined. */
export function zoneParam(v: unknown): string | undefined {
  const zone = textParam(v)
  return zone && knowsZone(zone) ? zone : undefined
}

/** One of some words of the address, or undefined. */
export const wordParam = <T extends string>(v: unknown, words: readonly T[]): T | undefined => words.find(w => w === v)

/** Some of some words, parted by commas, or undefined. */
export function wordsParam<T extends string>(v: unknown, words: readonly T[]): T[] | undefined {
  if (typeof v !== 'string') return Array.isArray(v) ? wordsParam(v.join(','), words) : undefined
  const found = words.filter(w => v.split(',').includes(w))
  return found.length > 0 ? found : undefined
}

/**
 * The parameters of an address, as its route reads them. What was refused stays
 * here as undefined: the router would put the raw text in its place otherwise.
 */
export const params = <T extends object>(of: T): { [K in keyof T]?: T[K] } => of
