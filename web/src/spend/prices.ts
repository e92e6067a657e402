import { nanos } from '../app/format'
import type { Price } from './queries'
import { classes } from './sums'

/** Returns the ID of a price: its model and first day. */
export const priceId = (p: Price): string => `${p.provider}/${p.model}@${p.from}`

export const sameDigits = (a: Price, b: Price): boolean =>
  priceId(a) === priceId(b) && classes.every(c => nanos(a[c]) === nanos(b[c]))

const fresh = 'new'

/** Returns the ID of a new price, optionally with a model and first day. */
export const newPriceId = (model?: string, from?: string): string => [fresh, model, from].filter(Boolean).join(':')

const none: Price = {
  provider: '',
  model: '',
  from: '',
  input: '',
  output: '',
  cache_read: '',
  cache_write: '',
  other: '0',
}

export interface Editing {
  /** The existing price; null for a new one. */
  was: Price | null
  draft: Price
}

/** Returns the price that an ID in the URL names; undefined if it doesn't exist. */
export function editing(id: string, prices: readonly Price[], today: string): Editing | undefined {
  if (id === fresh || id.startsWith(`${fresh}:`)) {
    const [, model = '', from = today] = /^new:(.*?)(?::(\d{4}-\d{2}-\d{2}))?$/.exec(id) ?? []
    // A model is written as provider/model, and its name may contain slashes too.
    const cut = model.indexOf('/')
    return {
      was: null,
      draft: { ...none, provider: cut < 0 ? '' : model.slice(0, cut), model: model.slice(cut + 1), from },
    }
  }
  const was = prices.find(p => priceId(p) === id)
  return was && { was, draft: was }
}

/** Returns the table with a price added, replaced, or removed. Other rows stay. */
export const withPrice = (prices: readonly Price[], was: Price | null, next: Price | null): Price[] => {
  const at = was ? prices.findIndex(p => priceId(p) === priceId(was)) : -1
  const kept = prices.filter((_, i) => i !== at)
  return next ? [...kept.slice(0, at < 0 ? kept.length : at), next, ...kept.slice(at < 0 ? kept.length : at)] : kept
}

/** Sorts by model, latest first. */
export const inOrder = (prices: readonly Price[]): Price[] =>
  [...prices].sort(
    (a, b) => a.model.localeCompare(b.model) || a.provider.localeCompare(b.provider) || b.from.localeCompare(a.from),
  )

/** Returns whether a price applies on a day, and until when. */
export function stateOf(p: Price, all: readonly Price[], today: string): { now: boolean; until: string | null } {
  const next = all
    .filter(o => o.provider === p.provider && o.model === p.model && o.from > p.from)
    .map(o => o.from)
    .sort()[0]
  return { now: p.from <= today && (next === undefined || next > today), until: next ?? null }
}

/** Returns whether the server accepts a text as an amount. */
export const isAmount = (text: string): boolean => {
  const n = nanos(text)
  return n !== null && n >= 0n && n <= 1_000_000_000_000_000n
}
