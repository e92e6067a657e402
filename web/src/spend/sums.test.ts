import { describe, expect, it } from 'vitest'
import { addDays } from '../app/days'
import { usd } from '../app/format'
import { hueOf } from '../ui/hue'
import { lookOf, measured, namesOf, seriesOf, splitBin, timeSeriesOf } from './split'
import {
  type Amounts,
  amountsOf,
  costOf,
  known,
  nothing,
  plus,
  type Report,
  roundedParts,
  type Sums,
  sharesOf,
  total,
} from './sums'

/** A seeded generator, so that failures are reproducible. */
function chance(seed: number): () => number {
  let s = seed
  return () => {
    s = (s * 1_103_515_245 + 12_345) % 2_147_483_648
    return s / 2_147_483_648
  }
}

interface Row {
  slot: number
  key: string | null
  of: Amounts
}

function row(random: () => number, slots: number): Row {
  const whole = (most: number) => Math.floor(random() * most)
  const kind = random()
  const price = kind < 0.6 ? 'runtime' : kind < 0.8 ? 'estimated' : 'none'
  const correction = random() < 0.1
  // Some amounts exceed the precision of a float, some are negative.
  const cost = price === 'none' ? 0n : BigInt(whole(2 ** 40)) * BigInt(1 + whole(2 ** 20)) * (correction ? -1n : 1n)
  return {
    slot: whole(slots),
    key: random() < 0.1 ? null : `agent-${whole(12)}`,
    of: {
      runs: correction ? 0 : 1,
      unpriced: price === 'none' && !correction ? 1 : 0,
      corrections: correction ? 1 : 0,
      tokens: {
        input: whole(9e6),
        output: whole(9e5),
        cache_read: whole(9e7),
        cache_write: whole(9e6),
        other: whole(9),
      },
      cost,
      estimated: price === 'estimated' ? cost : 0n,
      priced: price !== 'none',
    },
  }
}

const sums = (a: Amounts): Sums => ({
  runs: a.runs,
  unpriced_runs: a.unpriced,
  corrections: a.corrections,
  tokens: a.tokens,
  cost_usd: costOf(a),
  estimated_usd: usd(a.estimated),
})

const day = (i: number) => new Date(Date.UTC(2026, 0, 1 + i)).toISOString()

/** Builds the report that the server would return for these rows. */
function reportOf(rows: readonly Row[], slots: number): Report {
  const keys = [...new Set(rows.map(r => r.key))]
  const where = (f: (r: Row) => boolean) => total(rows.filter(f).map(r => r.of))
  return {
    from: day(0),
    to: day(slots),
    zone: 'UTC',
    group: 'agent',
    unit: 'day',
    ledger_begins_at: day(0),
    followed_since: day(0),
    total: sums(where(() => true)),
    series: Array.from({ length: slots }, (_, i) => ({
      start: day(i),
      end: day(i + 1),
      label: day(i).slice(0, 10),
      ...sums(where(r => r.slot === i)),
    })),
    groups: keys.map(key => ({ key, name: null, assignee_id: null, rest: false, ...sums(where(r => r.key === key)) })),
    previous: null,
    forecast: null,
    bars: barsOf(rows, slots),
  }
}

/** Returns the Monday of a day's week. */
const mondayOf = (day: string): string => addDays(day, -((new Date(day).getUTCDay() + 6) % 7))

/** The bars of the server: days, weeks, or months. */
function barsOf(rows: readonly Row[], slots: number): Report['bars'] {
  const unit = slots <= 48 ? 'day' : slots <= 329 ? 'week' : 'month'
  const name = (i: number) =>
    unit === 'day' ? day(i) : unit === 'week' ? mondayOf(day(i).slice(0, 10)) : day(i).slice(0, 7)
  const days = new Map<string, number[]>()
  for (let i = 0; i < slots; i++) days.set(name(i), [...(days.get(name(i)) ?? []), i])
  return [...days.values()].map(list => {
    const inside = rows.filter(r => list.includes(r.slot))
    const keys = [...new Set(inside.map(r => r.key))]
    const of = (key: string | null) => total(inside.filter(r => r.key === key).map(r => r.of))
    const groups = keys.map(key => ({ key, name: null, assignee_id: null, rest: false, ...sums(of(key)) }))
    return { start: day(list[0] ?? 0), end: day((list.at(-1) ?? 0) + 1), unit, groups }
  })
}

/** A time after every slot in these tests. */
const over = Number.POSITIVE_INFINITY

// All views must show the same numbers.
describe('header, series, bars, and groups', () => {
  it.each([
    [1, 7],
    [2, 31],
    [3, 48],
    [4, 49],
    [5, 329],
    [6, 330],
    [7, 800],
  ])('are one number to the nano-dollar (ledger %d, %d days)', (seed, slots) => {
    const random = chance(seed)
    const rows = Array.from({ length: 400 }, () => row(random, slots))
    const report = reportOf(rows, slots)
    const whole = amountsOf(report.total)
    expect(total(report.series.map(amountsOf))).toEqual(whole)
    expect(total(report.groups.map(amountsOf))).toEqual(whole)

    const { bins, parts } = timeSeriesOf(report, over)
    expect(bins.length).toBeLessThanOrEqual(48)
    expect(bins.map(b => [b.start, b.end, b.unit])).toEqual(report.bars.map(b => [b.start, b.end, b.unit]))
    expect(total(bins.map(b => b.sums))).toEqual(whole)
    expect(bins[0]?.start).toBe(report.from)
    expect(bins.at(-1)?.end).toBe(report.to)

    const series = seriesOf(report.groups, 'cost')
    bins.forEach((bin, i) => {
      const split = splitBin(bin, series, parts[i] ?? new Map())
      expect(total(split.parts)).toEqual(bin.sums)
    })
  })
})

describe('a total', () => {
  const of = (s: Partial<Sums>): Sums => ({ ...sums(nothing), ...s })
  it('tells what the runtime said from what was estimated', () =>
    expect(known(of({ runs: 3, cost_usd: '1.5', estimated_usd: '0.500000001' }))).toEqual({
      runtime: '0.999999999',
      estimated: '0.500000001',
      unpriced: 0,
    }))
  it('of which nothing has a price is unknown and not zero', () => {
    const none = of({ runs: 2, unpriced_runs: 2, cost_usd: null })
    expect(known(none).runtime).toBeNull()
    expect(costOf(amountsOf(none))).toBeNull()
    expect(costOf(plus(amountsOf(none), amountsOf(of({}))))).toBeNull()
    expect(costOf(plus(amountsOf(none), amountsOf(of({ runs: 1, cost_usd: '0' }))))).toBe('0')
  })
  it.each(['0', '0.000000001', '-0.5', '9223372036.854775807', '12.34', '-9223372036.854775808'])(
    'keeps every digit of %s',
    text => expect(usd(amountsOf(of({ runs: 1, cost_usd: text })).cost)).toBe(text),
  )
})

describe('the groups that are told apart', () => {
  const group = (key: string | null, cost: string, rest = false) => ({
    ...sums(nothing),
    key,
    name: null,
    assignee_id: null,
    rest,
    runs: 1,
    cost_usd: cost,
  })
  it('are those with most, by name, so that their colours stay', () => {
    const groups = ['b', 'a', 'c', 'g', 'e', 'f', 'd'].map((k, i) => group(k, String(10 - i)))
    expect(seriesOf(groups, 'cost')).toEqual(['=a', '=b', '=c', '=e', '=f', '=g', 'rest'])
    expect(seriesOf([group('x', '1'), group(null, '5')], 'cost')).toEqual(['=x', 'none'])
    expect(seriesOf([group('x', '1'), group(null, '5', true)], 'cost')).toEqual(['=x', 'rest'])
    expect(seriesOf([{ ...group(null, '9'), active: true }, group('x', '1')], 'cost')).toEqual(['=x', 'active'])
  })
  it('may be those with most tokens', () => {
    const big = { ...group('z', '0'), tokens: { ...nothing.tokens, output: 5 } }
    expect(measured(amountsOf(big), 'tokens')).toBe(5n)
  })
})

/** Returns hours as the server does, from their labels. Those at `used` have a run. */
function hoursOf(labels: readonly string[], used: readonly number[]): Pick<Report, 'series' | 'bars'> {
  const slots = labels.map((label, i) => ({
    start: new Date(label).toISOString(),
    end: new Date(Date.parse(label) + 3_600_000).toISOString(),
    label,
    ...sums({ ...nothing, runs: used.includes(i) ? 1 : 0 }),
  }))
  const bars = slots.map(({ start, end, label: _, ...of }) => ({
    start,
    end,
    unit: 'hour' as const,
    groups: of.runs > 0 ? [{ key: 'cto', name: null, assignee_id: null, rest: false, ...of }] : [],
  }))
  return { series: slots, bars }
}

// A future hour is unknown, not zero.
describe('what has not come yet', () => {
  const day = Array.from({ length: 24 }, (_, h) => `2026-11-20T${String(h).padStart(2, '0')}:00:00Z`)
  const at = Date.parse('2026-11-20T05:15:00Z')
  it('is no bar, and the hour that goes on is said to', () => {
    const { bins } = timeSeriesOf(hoursOf(day, [3]), at)
    expect(bins.map(b => b.running)).toEqual([false, false, false, false, false, true])
    expect(bins.at(-1)?.first).toBe('2026-11-20T05:00:00Z')
  })
  it('is shown all the same when something is in it: the clock of this machine may be wrong', () =>
    expect(timeSeriesOf(hoursOf(day, [7]), at).bins).toHaveLength(7))
  it('does not end a week or a month before it is over', () => {
    const days = reportOf([], 60)
    const { bins } = timeSeriesOf(days, Date.parse(days.series[10]?.start ?? ''))
    expect(bins.map(b => b.running)).toEqual([false, true])
  })
})

// "No group" must not stand out more than real groups.
describe('what belongs to no group', () => {
  it('is grey, and told apart from all the others together', () => {
    expect(lookOf('model', 'none', 1)).toEqual({ hue: 0, pattern: 0 })
    expect(lookOf('model', 'rest', 6)).toEqual({ hue: null, pattern: 6 })
    expect(lookOf('model', '=demo-1', 1)).toEqual({ hue: 7, pattern: 1 })
    expect(lookOf('agent', '=cto', 1)).toEqual({ hue: hueOf('cto'), pattern: 1 })
  })
})

// Labels must be unique.
describe('names of bars', () => {
  const hours = [
    '2026-10-25T01:00:00+02:00',
    '2026-10-25T02:00:00+02:00',
    '2026-10-25T02:00:00+01:00',
    '2026-10-25T03:00:00+01:00',
  ]
  it('say which of two hours it is when the clocks go back', () => {
    const { bins } = timeSeriesOf(hoursOf(hours, []), over)
    expect(bins.map((_, i) => namesOf(bins, i).long)).toEqual(['01:00', '02:00 (+02:00)', '02:00 (+01:00)', '03:00'])
  })
  it('say the week and the month', () => {
    const long = (n: number) => reportOf([], n)
    const weeks = timeSeriesOf(long(60), over).bins
    expect(namesOf(weeks, 1)).toEqual({ short: '5 Jan', long: 'Mon, 5 Jan 2026 – Sun, 11 Jan 2026' })
    const months = timeSeriesOf(long(400), over).bins
    expect(namesOf(months, 1).long).toBe('Feb 2026')
  })
})

// Otherwise two columns add up to another amount than the total beside them.
describe('rounded parts', () => {
  it('add up to the rounded whole, and no part without cost gets any', () => {
    const cents = (...of: number[]) => of.map(c => BigInt(Math.round(c * 10_000_000)))
    const parts = (...of: number[]) =>
      roundedParts(
        cents(...of).reduce((a, b) => a + b, 0n),
        cents(...of),
      )
    expect(parts(147.6, 13.7)).toEqual(cents(147, 14))
    expect(parts(1.4, 0, 1.4)).toEqual(cents(2, 0, 1))
    expect(parts(-2.5, 5)).toEqual(cents(-2, 5))
  })
})

// Shares that are cut one by one add up to less than everything.
describe('the shares of groups', () => {
  it.each([
    [
      [1n, 1n, 1n],
      [33.4, 33.3, 33.3],
    ],
    [
      [2n, 1n],
      [66.7, 33.3],
    ],
    [
      [999_999n, 1n],
      [100, 0],
    ],
    [[5n], [100]],
    [[], []],
    [
      [0n, 0n],
      [0, 0],
    ],
    [
      [-1n, 101n],
      [-1, 101],
    ],
  ])('%s: %s', (parts, want) => expect(sharesOf(parts)).toEqual(want))
  it('add up to 100.0, whatever the groups are', () => {
    const random = chance(7)
    for (let n = 0; n < 500; n++) {
      const parts = Array.from(
        { length: 1 + Math.floor(random() * 14) },
        () => BigInt(Math.floor(random() * 1e9)) ** 2n,
      )
      const sum = sharesOf(parts).reduce((a, b) => a + Math.round(b * 10), 0)
      expect(sum).toBe(parts.some(p => p > 0n) ? 1000 : 0)
    }
  })
})
