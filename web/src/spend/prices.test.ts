import { describe, expect, it } from 'vitest'
import { editing, inOrder, isAmount, newPriceId, priceId, stateOf, withPrice } from './prices'
import type { Price } from './queries'

const price = (model: string, from: string, input = '3'): Price => ({
  provider: 'demo',
  model,
  from,
  input,
  output: '15',
  cache_read: '0.3',
  cache_write: '3.75',
  other: '0',
})
const table = [price('one', '2026-01-01'), price('one', '2026-06-01', '4'), price('two', '2026-01-01')]

// Each change sends the whole table, so no row may be lost.
describe('a change of the prices', () => {
  it('puts one in, and leaves the others and their order', () => {
    const [first, second, third] = table as [Price, Price, Price]
    const dearer = { ...second, input: '5' }
    expect(withPrice(table, second, dearer)).toEqual([first, dearer, third])
    expect(withPrice(table, second, null)).toEqual([first, third])
    const added = price('three', '2026-01-01')
    expect(withPrice(table, null, added)).toEqual([...table, added])
    // Someone else removed it; the user's price is kept.
    expect(withPrice([first, third], second, dearer)).toEqual([first, third, dearer])
  })
})

describe('a price', () => {
  it('counts from its day until the next one of its model', () => {
    const state = (i: number, today: string) => stateOf(table[i] as Price, table, today)
    expect(state(0, '2026-05-31')).toEqual({ now: true, until: '2026-06-01' })
    expect(state(0, '2026-06-01')).toEqual({ now: false, until: '2026-06-01' })
    expect(state(1, '2026-05-31')).toEqual({ now: false, until: null })
    expect(state(1, '2026-06-01')).toEqual({ now: true, until: null })
  })
  it('is found by the address, or begun for a model', () => {
    expect(editing(priceId(table[1] as Price), table, '2026-11-20')?.was).toBe(table[1])
    expect(editing('demo/none@2026-01-01', table, '2026-11-20')).toBeUndefined()
    const of = (id: string) => {
      const d = editing(id, table, '2026-11-20')?.draft
      return d && [d.provider, d.model, d.from]
    }
    expect(of(newPriceId())).toEqual(['', '', '2026-11-20'])
    expect(of(newPriceId('ollama/llama3:8b', '2026-11-01'))).toEqual(['ollama', 'llama3:8b', '2026-11-01'])
    expect(of(newPriceId('plain'))).toEqual(['', 'plain', '2026-11-20'])
    expect(of(newPriceId('router/maker/model'))).toEqual(['router', 'maker/model', '2026-11-20'])
  })
  it.each([
    ['3', true],
    ['0.000000001', true],
    ['0.0000000001', false],
    ['-1', false],
    ['3,50', false],
    ['', false],
    ['1000001', false],
  ])('%s is an amount: %s', (text, want) => expect(isAmount(text)).toBe(want))
  it('stands under its model, the latest first', () =>
    expect(inOrder(table).map(priceId)).toEqual(['demo/one@2026-06-01', 'demo/one@2026-01-01', 'demo/two@2026-01-01']))
})
