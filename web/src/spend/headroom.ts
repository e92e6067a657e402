import { money, nanos, tokens } from '../app/format'
import type { Limit } from './limitQueries'
import type { Report } from './sums'

/** Formats an amount of a limit: $8.20, $25, or 1.2M. */
export const quantity = (l: Pick<Limit, 'measure'>, amount: string): string =>
  l.measure === 'usd' ? money(amount).replace(/\.00$/, '') : tokens(Number(amount))

/** Returns whether all of a limit is used. */
export const isReached = (l: Limit): boolean => l.used !== null && Number(l.used) >= Number(l.allowed)

/** Returns whether at least 80% of a limit is used, from where on it warns. */
export const isClose = (l: Limit): boolean => l.used !== null && Number(l.used) >= 0.8 * Number(l.allowed)

/** Returns the limit of which the largest part is used; undefined if no usage is known. */
export function tightest(limits: readonly Limit[]): Limit | undefined {
  const part = (l: Limit) => Number(l.used) / Number(l.allowed)
  return limits
    .filter(l => l.used !== null)
    .reduce<Limit | undefined>((a, b) => (a && part(a) >= part(b) ? a : b), undefined)
}

/**
 * Returns the lowest limit on everything whose periods are the bars of a report: nano-dollars or tokens. A limit above
 * four times the highest bar is left out, because the bars would be too small to read.
 */
export function lineOf(
  limits: readonly Limit[],
  { zone, bars }: Pick<Report, 'zone' | 'bars'>,
  measure: 'cost' | 'tokens',
  highest: bigint,
): { limit: Limit; value: bigint } | undefined {
  return limits
    .filter(l => l.scope === 'all' && l.timezone === zone && l.window === bars[0]?.unit)
    .filter(l => l.measure === (measure === 'cost' ? 'usd' : 'tokens'))
    .map(limit => ({ limit, value: limit.measure === 'usd' ? (nanos(limit.amount) ?? 0n) : BigInt(limit.amount) }))
    .filter(({ value }) => value <= 4n * highest)
    .reduce<{ limit: Limit; value: bigint } | undefined>((a, b) => (a && a.value <= b.value ? a : b), undefined)
}

/** Returns a limit a day in dollars that the usual day stays far below: three times as much, rounded up. */
export function suggested(perDay: string | undefined): number {
  const most = 3 * Number(perDay ?? 0)
  if (!(most > 0)) return 25
  for (let unit = 1; ; unit *= 10) for (const n of [1, 2, 5]) if (n * unit >= most) return n * unit
}
