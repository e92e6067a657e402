import type { Schemas } from '../api/client'
import { nanos } from '../app/format'

export type Report = Schemas['UsageReport']
export type Sums = Schemas['UsageSums']
export type Share = Schemas['UsageShare']
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

export const plus = (a: Amounts, b: Amounts): Amounts => ({
  runs: a.runs + b.runs,
  unpriced: a.unpriced + b.unpriced,
  corrections: a.corrections + b.corrections,
  tokens: {
    input: a.tokens.input + b.tokens.input,
    output: a.tokens.output + b.tokens.output,
    cache_read: a.tokens.cache_read + b.tokens.cache_read,
    cache_write: a.tokens.cache_write + b.tokens.cache_write,
    other: a.tokens.other + b.tokens.other,
  },
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

/** Converts nano-dollars to an exact decimal string: "0.028314". */
export function usd(nano: bigint): string {
  const size = nano < 0n ? -nano : nano
  const rest = (size % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '')
  return `${nano < 0n ? '-' : ''}${size / 1_000_000_000n}${rest && `.${rest}`}`
}

/** Returns the cost as a decimal string; null if nothing has a price. */
export const costOf = (a: Amounts): string | null => (a.priced || a.unpriced === 0 ? usd(a.cost) : null)

/** Splits the total by source: reported by the runtime, estimated, and unpriced runs. */
export function known(s: Sums): { runtime: string | null; estimated: string; unpriced: number; runs: number } {
  const a = amountsOf(s)
  const cost = costOf(a)
  return {
    runtime: cost === null ? null : usd(a.cost - a.estimated),
    estimated: usd(a.estimated),
    unpriced: a.unpriced,
    runs: a.runs,
  }
}
