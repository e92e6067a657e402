import { nanos } from '../app/format'
import type { Price } from './queries'
import { classes } from './sums'

/** Names a price: of one model from one day there is one. */
export const priceId = (p: Price): string => `${p.provider}/${p.model}@${p.from}`

export const sameDigits = (a: Price, b: Price): boolean =>
  priceId(a) === priceId(b) && classes.every(c => nanos(a[c]) === nanos(b[c]))

const fresh = 'new'

/** Names a price that is not there yet, perhaps of a model that needs one from a day on. */
export const newPriceId = (model?: string, from?: string): string => [fresh, model, from].filter(Boolean).join(':')

const none: Price = {
  provider: '',
  model: '',
  from: '',
  input: '',
  output: '',
  cache_read: '',
  cache_write: '',
  other: '',
}

export interface Editing {
  /** What is in the table; null for a new price. */
  was: Price | null
  draft: Price
}

/** What an address says is being edited; undefined for a price that is not in the table. */
export function editing(id: string, prices: readonly Price[], today: string): Editing | undefined {
  if (id === fresh || id.startsWith(`${fresh}:`)) {
    const [, model = '', from = today] = /^new:(.*?)(?::(\d{4}-\d{2}-\d{2}))?$/.exec(id) ?? []
    // A model is written as provider/model, and its own name may have a slash as well.
    const cut = model.indexOf('/')
    return {
      was: null,
      draft: { ...none, provider: cut < 0 ? '' : model.slice(0, cut), model: model.slice(cut + 1), from },
    }
  }
  const was = prices.find(p => priceId(p) === id)
  return was && { was, draft: was }
}

/** The whole table with one price in it, out of it, or another. What others changed meanwhile stays. */
export const withPrice = (prices: readonly Price[], was: Price | null, next: Price | null): Price[] => {
  const at = was ? prices.findIndex(p => priceId(p) === priceId(was)) : -1
  const kept = prices.filter((_, i) => i !== at)
  return next ? [...kept.slice(0, at < 0 ? kept.length : at), next, ...kept.slice(at < 0 ? kept.length : at)] : kept
}

/** By model, and of one model the latest first. */
export const inOrder = (prices: readonly Price[]): Price[] =>
  [...prices].sort(
    (a, b) => a.model.localeCompare(b.model) || a.provider.localeCompare(b.provider) || b.from.localeCompare(a.from),
  )

/** Whether a price counts on a day, and from which day on another one does. */
export function stateOf(p: Price, all: readonly Price[], today: string): { now: boolean; until: string | null } {
  const next = all
    .filter(o => o.provider === p.provider && o.model === p.model && o.from > p.from)
    .map(o => o.from)
    .sort()[0]
  return { now: p.from <= today && (next === undefined || next > today), until: next ?? null }
}

/** Whether a text is an amount that the service takes. */
export const isAmount = (text: string): boolean => {
  const n = nanos(text)
  return n !== null && n >= 0n && n <= 1_000_000_000_000_000n
}
