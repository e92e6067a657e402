import type { Look } from '../ui/chart/looks'
import { hueOf } from '../ui/hue'
import { type Amounts, amountsOf, nothing, plus, type Report, type Share, tokensOf, total } from './sums'

/** One bar: an hour, a day, a week from Monday, or a month, within the period. */
export interface Bin {
  start: string
  end: string
  /** The first and last slot in the bar. */
  first: string
  last: string
  unit: Report['bars'][number]['unit']
  sums: Amounts
  /** Whether the bar is still growing. */
  running: boolean
}

/** Returns the days of a bar; null for an hour. */
export const daysOfBin = (bin: Bin): { from: string; to: string } | null =>
  bin.unit === 'hour' ? null : { from: bin.first, to: bin.last }

const clock = (label: string) => label.slice(11, 16)
const zoneOf = (label: string) => label.slice(19).replace('Z', '+00:00')

const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const longFormat = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})
const monthFormat = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' })
const rangeFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})
const at = (day: string) => new Date(`${day}T00:00:00Z`)

/** Formats the days of a period: Wed 18 – Tue 24 Nov. */
export const rangeText = (first: string, last: string): string =>
  first === last ? longDay(first) : rangeFormat.formatRange(at(first), at(last))

/** Returns the name of the month of a moment: November. */
export const monthName = (moment: string, zone: string): string =>
  new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: zone }).format(new Date(moment))

/** Formats a day: 20 Nov. */
export const shortDay = (day: string): string => dayFormat.format(at(day))
const longDay = (day: string): string => longFormat.format(at(day))

/**
 * Returns the short and long label of a bar. The repeated hour at the end of daylight saving time is marked. Hours of a
 * single day are named without the day.
 */
export function namesOf(bins: readonly Bin[], i: number): { short: string; long: string } {
  const bin = bins[i]
  if (!bin) return { short: '', long: '' }
  if (bin.unit === 'month') {
    const name = monthFormat.format(at(bin.first))
    return { short: name, long: name }
  }
  if (bin.unit === 'week') return { short: shortDay(bin.first), long: `${longDay(bin.first)} – ${longDay(bin.last)}` }
  if (bin.unit === 'day') return { short: shortDay(bin.first), long: longDay(bin.first) }
  const hour = clock(bin.first)
  const day = bin.first.slice(0, 10)
  const twice = [bins[i - 1], bins[i + 1]].some(b => b && clock(b.first) === hour && b.first.startsWith(day))
  const known = bins.every(b => b.first.startsWith(day))
  return { short: hour, long: `${known ? '' : `${longDay(day)}, `}${hour}${twice ? ` (${zoneOf(bin.first)})` : ''}` }
}

/** The ID of a group in a report: its key, `none`, the combined `rest`, or the `active` runs. */
export type PartId = `=${string}` | 'none' | 'rest' | 'active'

export const partId = (s: Pick<Share, 'key' | 'rest' | 'active'>): PartId =>
  s.active ? 'active' : s.rest ? 'rest' : s.key === null ? 'none' : `=${s.key}`

export const keyOf = (id: PartId): string | null => (id.startsWith('=') ? id.slice(1) : null)

export type Measure = 'cost' | 'tokens'

export const measured = (a: Amounts, by: Measure): bigint => (by === 'cost' ? a.cost : BigInt(tokensOf(a.tokens)))

/** Number of groups with a color of their own. */
const mostSeries = 6

/**
 * Returns the series of the chart: the largest groups by name, so that colors stay with their groups as sums grow, and
 * the rest combined. Active runs are on top.
 */
export function seriesOf(groups: readonly Share[], by: Measure): PartId[] {
  const ranked = groups
    .filter(g => !g.rest && !g.active)
    .map(g => ({ id: partId(g), value: measured(amountsOf(g), by) }))
    .sort((a, b) => (a.value === b.value ? 0 : a.value > b.value ? -1 : 1))
  const chosen = ranked.slice(0, mostSeries).map(g => g.id)
  const named = chosen.filter(id => id !== 'none').sort((a, b) => a.localeCompare(b))
  const others = ranked.length > mostSeries || groups.some(g => g.rest)
  return [
    ...named,
    ...(chosen.includes('none') ? (['none'] as const) : []),
    ...(others ? (['rest'] as const) : []),
    ...(groups.some(g => g.active) ? (['active'] as const) : []),
  ]
}

/** The colors of groups that are no agents. */
const order = [1, 7, 8, 4, 5, 6] as const
const patterns = [0, 1, 2, 3, 4, 5] as const

/** Returns the look of the series at `i`. Agents have their own colors everywhere; groups without a series are gray. */
export function lookOf(group: string, id: PartId, i: number): Look {
  const key = keyOf(id)
  if (id === 'active') return { hue: null, pattern: 1, striped: true }
  if (key === null) return id === 'rest' ? { hue: null, pattern: 6 } : { hue: 0, pattern: 0 }
  return { hue: group === 'agent' ? hueOf(key) : (order[i] ?? null), pattern: patterns[i] ?? 6 }
}

export type Parts = ReadonlyMap<PartId, Amounts>

/** Returns the bars of a report with the groups of each. They end now, because the future is unknown, not zero. */
export function timeSeriesOf(
  { series, bars }: Pick<Report, 'series' | 'bars'>,
  now: number,
): { bins: Bin[]; parts: Parts[] } {
  const begun = bars.filter(b => Date.parse(b.start) <= now || b.groups.length > 0)
  const parts = begun.map(b => new Map(b.groups.map(g => [partId(g), amountsOf(g)])))
  const bins = begun.map(({ start, end, unit }, i): Bin => {
    const slots = series.filter(s => s.start >= start && s.start < end)
    return {
      start,
      end,
      unit,
      first: slots[0]?.label ?? '',
      last: slots.at(-1)?.label ?? '',
      sums: total(parts[i]?.values() ?? []),
      running: Date.parse(end) > now,
    }
  })
  return { bins, parts }
}

/** A bar split by series. The parts add up to the bar exactly. */
export interface SplitBin {
  bin: Bin
  parts: Amounts[]
}

/** Splits a bar by series; `rest` takes all other groups. */
export function splitBin(bin: Bin, series: readonly PartId[], parts: Parts): SplitBin {
  const values = series.map(() => nothing)
  for (const [id, amounts] of parts) {
    const own = series.indexOf(id)
    const i = own >= 0 ? own : series.indexOf('rest')
    const was = values[i]
    if (was) values[i] = plus(was, amounts)
  }
  return { bin, parts: values }
}
