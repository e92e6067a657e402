import { describe, expect, it } from 'vitest'
import { costPerRun, fits, isStandupJob, type Job, sorted, teamOf } from './job'
import { lastSlots, type Slot, slotWords } from './slots'
import { spanOf } from './span'

const job = (of: object = {}): Job =>
  ({
    id: 'j',
    name: 'Report',
    agentId: 'cto',
    enabled: true,
    next_runs: [],
    state: { consecutiveErrors: 0 },
    ...of,
  }) as unknown as Job
const slot = (due_at: string, state: Slot['state']): Slot => ({ due_at, state }) as Slot

// A missed slot must not be left out.
describe('slots', () => {
  const now = Date.parse('2026-11-20T10:00:00Z')
  it('are the last ones whose time has come, in their order', () => {
    const all = Array.from({ length: 20 }, (_, i) =>
      slot(`2026-11-${String(i + 1).padStart(2, '0')}T09:00:00Z`, 'on_time'),
    )
    const shown = lastSlots([...all, slot('2026-11-20T11:00:00Z', 'pending')], 14, now)
    expect(shown).toHaveLength(14)
    expect(shown[0]?.due_at).toContain('2026-11-07')
    expect(shown.at(-1)?.due_at).toContain('2026-11-20T09')
  })
  it('are said with the worst first', () => {
    expect(slotWords([slot('', 'on_time'), slot('', 'missed'), slot('', 'on_time'), slot('', 'unknown')])).toBe(
      '1 missed, 1 unknown, 2 on time',
    )
    expect(slotWords([])).toBe('')
  })
  it('reach back as far as fourteen of them need, and no further than the ledger answers', () => {
    const every = (ms: number) => Array.from({ length: 10 }, (_, i) => ({ at: new Date(now + i * ms).toISOString() }))
    const hour = 3_600_000
    expect(spanOf(every(60_000), 14)).toBe(hour)
    expect(spanOf(every(hour), 14)).toBe(15 * hour)
    expect(spanOf(every(7 * 24 * hour), 14)).toBe(31 * 24 * hour)
    // With a weekend in between, the widest gap counts; otherwise Monday's job would show three dots.
    expect(
      spanOf([{ at: '2026-11-20T09:00:00Z' }, { at: '2026-11-23T09:00:00Z' }, { at: '2026-11-24T09:00:00Z' }], 14),
    ).toBe(31 * 24 * hour)
    expect(spanOf([], 14)).toBe(15 * 24 * hour)
  })
})

describe('what a run costs', () => {
  const share = (cost_usd: string | null, runs: number, unpriced_runs = 0) => ({ cost_usd, runs, unpriced_runs })
  it('is the mean of those with a price; nobody knows a price that there is not', () => {
    expect(costPerRun(share('1', 4))).toBe('$0.25')
    expect(costPerRun(share('1', 4, 2))).toBe('$0.50')
    expect(costPerRun(share('0.000000004', 4))).toBe('<$0.0001')
    expect(costPerRun(share(null, 4, 4))).toBe('unpriced')
    expect(costPerRun(share('0', 0))).toBe('no runs')
    expect(costPerRun(undefined)).toBe('no runs')
  })
})

describe('jobs', () => {
  it('that fit', () => {
    const none = new Set<string>()
    expect(fits(job(), {}, none)).toBe(true)
    expect(fits(job(), { show: 'missed' }, none)).toBe(false)
    expect(fits(job(), { show: 'missed' }, new Set([job().id]))).toBe(true)
    expect(fits(job(), { q: 'rep', agent: 'cto' }, none)).toBe(true)
    expect(fits(job(), { agent: 'coo' }, none)).toBe(false)
    expect(fits(job(), { show: 'disabled' }, none)).toBe(false)
    expect(fits(job({ state: { consecutiveErrors: 2 } }), { show: 'failing' }, none)).toBe(true)
    // A disabled job isn't failing, whatever it did before.
    expect(fits(job({ enabled: false, state: { consecutiveErrors: 2 } }), { show: 'failing' }, none)).toBe(false)
  })
  it('stand in the order in which they run; those that do not come last', () => {
    const list = [
      job({ name: 'off' }),
      job({ name: 'b', next_runs: [{ at: '2026-11-21' }] }),
      job({ name: 'a', next_runs: [{ at: '2026-11-20' }] }),
    ]
    expect(sorted(list).map(j => j.name)).toEqual(['a', 'b', 'off'])
  })
  it('that start standups are known by their names', () => {
    expect([isStandupJob('daily-standup'), isStandupJob('daily-standup-growth'), isStandupJob('standup')]).toEqual([
      true,
      true,
      false,
    ])
    expect([teamOf('daily-standup'), teamOf('daily-standup-growth')]).toEqual(['executive', 'growth'])
  })
})
