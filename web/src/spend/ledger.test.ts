import { describe, expect, it } from 'vitest'
import { knownOf } from './ledger'

// A day before the ledger began is not one that cost nothing.
describe('what the ledger knows of a period', () => {
  const noon = Date.parse('2026-11-21T12:00:00Z')
  const day = { from: '2026-11-14T00:00:00.000Z', to: '2026-11-15T00:00:00.000Z' }
  it.each([
    ['2026-11-01T00:00:00.000Z', 'all'],
    ['2026-11-14T00:00:00.000Z', 'all'],
    ['2026-11-14T10:00:00.000Z', 'part'],
    ['2026-11-15T00:00:00.000Z', 'nothing'],
    ['2026-11-20T00:00:00.000Z', 'nothing'],
    [null, 'nothing'],
  ])('when it begins at %s is %s', (ledger_begins_at, want) =>
    expect(knownOf({ ...day, ledger_begins_at }, noon)).toBe(want),
  )
  it('without a row is nothing of days that are over, and part of the one that is not', () =>
    expect(knownOf({ from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z', ledger_begins_at: null }, noon)).toBe(
      'part',
    ))
})
