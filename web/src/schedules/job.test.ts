import { describe, expect, it } from 'vitest'
import { myZone } from '../app/format'
import {
  costPerMonth,
  costPerRun,
  fits,
  isStandupJob,
  type Job,
  missedSlot,
  monthOf,
  openMisses,
  sorted,
  teamOf,
  zoneText,
} from './job'
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
  const daily = Array.from({ length: 10 }, (_, i) => ({ at: `2026-12-${i + 10}T09:00:00Z`, local: '' }))
  it('is the mean of those with a price; nobody knows a price that there is not', () => {
    expect(costPerRun(share('1', 4))).toBe('$0.25')
    expect(costPerRun(share('1', 4, 2))).toBe('$0.50')
    expect(costPerRun(share('0.000000004', 4))).toBe('<$0.01')
    expect(costPerRun(share(null, 4, 4))).toBe('unpriced')
    expect(costPerRun(share('0', 0))).toBe('no runs')
    expect(costPerRun(undefined)).toBe('no runs')
  })
  it('in a month follows from how often the next ones come', () => {
    expect(costPerMonth(share('1', 4), daily)).toBe('$7.61')
    expect(costPerMonth(share('1', 4), daily.slice(0, 1))).toBeNull()
    expect(costPerMonth(share(null, 4, 4), daily)).toBeNull()
    expect(costPerMonth(undefined, daily)).toBeNull()
  })
  it('counts full days of a job that pauses at night, and full weeks of one that pauses on weekends', () => {
    const at = (d: number, h: number) => ({
      at: `2026-12-${d}T${String(h).padStart(2, '0')}:30:00Z`,
      local: `2026-12-${d}T${String(h).padStart(2, '0')}:30:00Z`,
    })
    const hours = [5, 8, 11, 14, 17]
    const nightly = [...hours.map(h => at(10, h)), ...hours.map(h => at(11, h))]
    expect(costPerMonth(share('1', 4), nightly)).toBe('$38.05')
    const weekdays = [10, 11, 14, 15, 16, 17, 18, 21, 22, 23].map(d => at(d, 9))
    expect(costPerMonth(share('1', 4), weekdays)).toBe('$5.44')
  })
  it('is the sum for several jobs, without those whose cost is unknown', () => {
    const jobs = ['a', 'b', 'new'].map(id => job({ id, next_runs: daily }))
    const groups = [
      { key: 'a', ...share('1', 4) },
      { key: 'b', ...share('2', 4) },
    ]
    expect(monthOf(jobs, groups)?.text).toBe('$22.83')
    expect(monthOf(jobs.slice(0, 1), groups)).toBeNull()
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
  it('stand in the order in which they run, those with trouble first, and those that do not come last', () => {
    const list = [
      job({ name: 'off' }),
      job({ name: 'b', next_runs: [{ at: '2026-11-21' }] }),
      job({ name: 'a', next_runs: [{ at: '2026-11-20' }] }),
      job({ id: 'm', name: 'missed', next_runs: [{ at: '2026-11-22' }] }),
      job({ name: 'failing', state: { consecutiveErrors: 1 } }),
    ]
    expect(sorted(list, new Set(['m'])).map(j => j.name)).toEqual(['failing', 'missed', 'a', 'b', 'off'])
  })
  // The count must agree with the inbox, whose item resolves itself when a run succeeds.
  it('that missed a slot count until they succeed', () => {
    const slots = [slot('2026-11-20T09:00:00Z', 'missed'), slot('2026-11-20T08:00:00Z', 'failed')].map(s => ({
      ...s,
      job_id: 'j',
    }))
    const ran = (lastStatus: string, lastRunAt: string) => [job({ state: { lastStatus, lastRunAt } })]
    expect(openMisses(slots, ran('ok', '2026-11-20T07:00:00Z'))).toEqual([slots[0]])
    expect(openMisses(slots, ran('error', '2026-11-20T09:30:00Z'))).toEqual([slots[0]])
    expect(openMisses(slots, ran('ok', '2026-11-20T09:30:00Z'))).toEqual([])
    expect(openMisses(slots, [])).toEqual([slots[0]])
  })
  it('missed their last slot only if they have not run since', () => {
    const now = Date.parse('2026-11-20T10:00:00Z')
    const slots = [slot('2026-11-19T09:00:00Z', 'on_time'), slot('2026-11-20T09:00:00Z', 'missed')]
    const ran = (lastRunAt: string | null) => job({ state: { consecutiveErrors: 0, lastRunAt } })
    expect(missedSlot(ran('2026-11-19T09:00:00Z'), slots, now)).toBe(slots[1])
    expect(missedSlot(ran(null), slots, now)).toBe(slots[1])
    expect(missedSlot(ran('2026-11-20T09:30:00Z'), slots, now)).toBeNull()
    // The count is of 24 hours, so an older one must not stand under "None missed".
    expect(missedSlot(ran(null), slots, now + 86_400_000)).toBeNull()
    expect(missedSlot(ran(null), slots, now - 7_200_000)).toBeNull()
    expect(missedSlot(ran(null), [...slots, slot('2026-11-20T11:00:00Z', 'pending')], now)).toBe(slots[1])
  })
  it('name their time zone, also if only the runtime knows it', () => {
    expect(zoneText({ kind: 'cron', expr: '0 9 * * *', tz: 'Pacific/Apia' })).toBe('in Pacific/Apia')
    expect(zoneText({ kind: 'cron', expr: '0 9 * * *' })).toContain('host')
    expect(zoneText({ kind: 'cron', expr: '0 9 * * *', tz: myZone() })).toBeNull()
    expect(zoneText({ kind: 'every', everyMs: 1 })).toBeNull()
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
