import { describe, expect, it } from 'vitest'
import { keptUntil, knownOf } from './ledger'

// Days before tracking started have unknown cost, not zero.
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
    expect(knownOf({ ...day, ledger_begins_at, followed_since: ledger_begins_at }, noon)).toBe(want),
  )
  it.each([
    ['2026-11-14T00:00:00.000Z', 'all'],
    ['2026-11-14T00:00:01.000Z', 'least'],
    ['2026-11-20T00:00:00.000Z', 'least'],
    [null, 'least'],
  ])('when the runtime is followed since %s, and had kept it, is %s', (followed_since, want) =>
    expect(knownOf({ ...day, ledger_begins_at: '2026-11-01T00:00:00.000Z', followed_since }, noon)).toBe(want),
  )
  it('without a row is nothing of days that are over, and part of the one that is not', () =>
    expect(
      knownOf(
        { from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z', ledger_begins_at: null, followed_since: null },
        noon,
      ),
    ).toBe('part'))
})

// A month of which the runtime kept only a week would look cheap.
it.each([
  ['2026-11-01', '2026-11-20', true],
  ['2026-11-14T12:00:00Z', '2026-11-14T18:00:00Z', true],
  ['2026-11-14T12:00:00Z', '2026-11-14T12:00:00Z', false],
  ['2026-11-01', '2026-11-14', false],
  ['2026-11-15', '2026-11-20', false],
])(
  'a ledger that begins on %s, of a runtime that is followed since %s, says of a day that it may be more: %s',
  (ledger_begins_at, followed_since, said) => {
    const day = { from: '2026-11-14T00:00:00Z', to: '2026-11-15T00:00:00Z' }
    expect(keptUntil({ ...day, ledger_begins_at, followed_since })).toBe(said ? followed_since : null)
  },
)
