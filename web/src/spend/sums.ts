import type { Schemas } from '../api/client'
import { nanos, usd } from '../app/format'

export type Report = Schemas['UsageReport']
export type Sums = Schemas['UsageSums']
/** A group of a report, or its active runs. */
export type Share = Schemas['UsageShare'] & { active?: true }
export type Tokens = Schemas['UsageTokens']

export const classes = ['input', 'output', 'cache_read', 'cache_write', 'other'] as const satisfies (keyof Tokens)[]

/** Usage sums. Costs are integers in nano-dollars, so that adding is exact. */
export interface Amounts {
  runs: number
  unpriced: number
  corrections: number
  tokens: Tokens
  /** The cost of the priced runs, in nano-dollars. */
  cost: bigint
  estimated: bigint
  /** Whether any run has a price. Otherwise the cost is unknown, not zero. */
  priced: boolean
}

export const nothing: Amounts = {
  runs: 0,
  unpriced: 0,
  corrections: 0,
  tokens: { input: 0, output: 0, cache_read: 0, cache_write: 0, other: 0 },
  cost: 0n,
  estimated: 0n,
  priced: false,
}

export const amountsOf = (s: Sums): Amounts => ({
  runs: s.runs,
  unpriced: s.unpriced_runs,
  corrections: s.corrections,
  tokens: s.tokens,
  cost: nanos(s.cost_usd) ?? 0n,
  estimated: nanos(s.estimated_usd) ?? 0n,
  priced: s.cost_usd !== null && s.runs + s.corrections > 0,
})

export const plusTokens = (a: Tokens, b: Tokens): Tokens => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cache_read: a.cache_read + b.cache_read,
  cache_write: a.cache_write + b.cache_write,
  other: a.other + b.other,
})

export const plus = (a: Amounts, b: Amounts): Amounts => ({
  runs: a.runs + b.runs,
  unpriced: a.unpriced + b.unpriced,
  corrections: a.corrections + b.corrections,
  tokens: plusTokens(a.tokens, b.tokens),
  cost: a.cost + b.cost,
  estimated: a.estimated + b.estimated,
  priced: a.priced || b.priced,
})
export const total = (list: Iterable<Amounts>): Amounts => [...list].reduce(plus, nothing)

export const tokensOf = (t: Tokens): number => t.input + t.output + t.cache_read + t.cache_write + t.other

export const isNothing = (a: Amounts): boolean =>
  a.runs === 0 &&
  a.unpriced === 0 &&
  a.corrections === 0 &&
  a.cost === 0n &&
  a.estimated === 0n &&
  classes.every(c => a.tokens[c] === 0)

const cent = 10_000_000n

/**
 * Rounds parts to units so that they add up to the rounded whole: those that lose most by rounding down are rounded up.
 */
function roundedTo(unit: bigint, whole: bigint, parts: readonly bigint[]): bigint[] {
  const floors = parts.map(p => p - (((p % unit) + unit) % unit))
  let missing = Number((((whole + unit / 2n) / unit) * unit - floors.reduce((a, b) => a + b, 0n)) / unit)
  const order = parts.map((p, i) => ({ i, rest: p - (floors[i] ?? 0n) })).sort((a, b) => Number(b.rest - a.rest))
  for (const { i, rest } of order) {
    if (missing < 1 || rest === 0n) break
    floors[i] = (floors[i] ?? 0n) + unit
    missing--
  }
  return floors
}

/** Rounds costs to cents so that they add up to the rounded sum. */
export const roundedParts = (whole: bigint, parts: readonly bigint[]): bigint[] => roundedTo(cent, whole, parts)

/** Returns the shares of parts in their sum in percent, with one decimal, so that they add up to 100.0. */
export function sharesOf(parts: readonly bigint[]): number[] {
  const whole = parts.reduce((a, b) => a + b, 0n)
  if (whole <= 0n) return parts.map(() => 0)
  const tenths = parts.map(p => p * 1000n)
  return roundedTo(whole, whole * 1000n, tenths).map(t => Number(t / whole) / 10)
}

/** Returns the cost as a decimal string; null if nothing has a price. */
export const costOf = (a: Amounts): string | null => (a.priced || a.unpriced === 0 ? usd(a.cost) : null)

/** Splits the cost into what the runtime reported and what Wardroom estimated; unpriced runs are in neither. */
export function known(s: Sums): { runtime: string | null; estimated: string; unpriced: number } {
  const a = amountsOf(s)
  return {
    runtime: costOf(a) === null ? null : usd(a.cost - a.estimated),
    estimated: usd(a.estimated),
    unpriced: a.unpriced,
  }
}
