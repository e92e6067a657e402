import { mondayOf } from './period'
import { type Amounts, amountsOf, isNothing, nothing, plus, type Report, tokensOf } from './sums'

/** More bars than this can't be told apart on a phone. */
const mostBars = 48

type Unit = 'hour' | 'day' | 'week' | 'month'

/** One bar: an hour, a day, a week from Monday, or a month, within the period. */
export interface Bin {
  start: string
  end: string
  /** The first and last slot in the bar. */
  first: string
  last: string
  unit: Unit
  sums: Amounts
  /** Whether the bar is still growing. */
  running: boolean
}

/**
 * Combines the time series into bars that are wide enough to see. They add up to the series and end now, because the
 * future is unknown, not zero.
 */
export function binsOf(report: Pick<Report, 'series' | 'unit'>, now: number): Bin[] {
  const { unit: given } = report
  const series = report.series.filter(slot => Date.parse(slot.start) <= now || !isNothing(amountsOf(slot)))
  const unit: Unit =
    given === 'hour' || report.series.length <= mostBars
      ? given
      : report.series.length <= (mostBars - 1) * 7
        ? 'week'
        : 'month'
  const bins: Bin[] = []
  let current = ''
  for (const slot of series) {
    const name = unit === 'week' ? mondayOf(slot.label) : unit === 'month' ? slot.label.slice(0, 7) : slot.start
    const bin = bins.at(-1)
    if (bin && name === current) {
      bin.end = slot.end
      bin.last = slot.label
      bin.sums = plus(bin.sums, amountsOf(slot))
      bin.running = Date.parse(slot.end) > now
    } else {
      current = name
      bins.push({
        start: slot.start,
        end: slot.end,
        first: slot.label,
        last: slot.label,
        unit,
        sums: amountsOf(slot),
        running: Date.parse(slot.end) > now,
      })
    }
  }
  return bins
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
const at = (day: string) => new Date(`${day}T00:00:00Z`)

/** Formats a day: 20 Nov. */
export const shortDay = (day: string): string => dayFormat.format(at(day))
export const longDay = (day: string): string => longFormat.format(at(day))

/** Returns the short and long label of a bar. The repeated hour at the end of daylight saving time is marked. */
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
  return { short: hour, long: `${longDay(day)}, ${hour}${twice ? ` (${zoneOf(bin.first)})` : ''}` }
}

/** The ID of a group in a report: its key, `none`, or the combined `rest`. */
export type PartId = `=${string}` | 'none' | 'rest'

export const partId = (s: { key: string | null; rest: boolean }): PartId =>
  s.rest ? 'rest' : s.key === null ? 'none' : `=${s.key}`

export const keyOf = (id: PartId): string | null => (id.startsWith('=') ? id.slice(1) : null)

export type Measure = 'cost' | 'tokens'

export const measured = (a: Amounts, by: Measure): bigint => (by === 'cost' ? a.cost : BigInt(tokensOf(a.tokens)))

/** Number of groups with a color of their own. */
const mostSeries = 6

/**
 * Returns the series of the chart: the largest groups by name, so that colors stay with their groups as sums grow, and
 * the rest combined.
 */
export function seriesOf(groups: Report['groups'], by: Measure): PartId[] {
  const ranked = groups
    .filter(g => !g.rest)
    .map(g => ({ id: partId(g), value: measured(amountsOf(g), by) }))
    .sort((a, b) => (a.value === b.value ? 0 : a.value > b.value ? -1 : 1))
  const chosen = ranked.slice(0, mostSeries).map(g => g.id)
  const named = chosen.filter(id => id !== 'none').sort((a, b) => a.localeCompare(b))
  const others = ranked.length > mostSeries || groups.some(g => g.rest)
  return [...named, ...(chosen.includes('none') ? (['none'] as const) : []), ...(others ? (['rest'] as const) : [])]
}

export type Parts = ReadonlyMap<PartId, Amounts>

/** Returns the bars of a report with the groups of each. */
export function timeSeriesOf(report: Report, now: number): { bins: Bin[]; parts: Parts[] } {
  const bins = binsOf(report, now)
  const groups = new Map(report.bars.map(bar => [bar.start, bar.groups]))
  const parts = bins.map(bin => new Map((groups.get(bin.start) ?? []).map(g => [partId(g), amountsOf(g)])))
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
