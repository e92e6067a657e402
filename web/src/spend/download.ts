import type { QueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { now } from '../app/clock'
import { usd } from '../app/format'
import { spend } from '../texts/spend'
import { saveCsv } from '../ui/csv'
import { sayFailed } from '../ui/toast'
import type { Ask } from './period'
import { splitAll } from './queries'
import { type Group, reportQuery } from './report'
import { type Measure, measured, seriesOf, timeSeriesOf } from './split'
import type { Amounts, Report } from './sums'

/** Saves a report as CSV. Refetches the page, because runs may have ended since it loaded, and both should agree. */
export async function saveGroups(cache: QueryClient, ask: Ask, group: Group): Promise<void> {
  try {
    const query = { ...ask, group, bom: true }
    saveCsv(
      `spend-by-${group}-${ask.from}-${ask.to}.csv`,
      await take(api.GET('/api/v1/usage.csv', { params: { query }, parseAs: 'blob' })),
    )
    await cache.invalidateQueries({ queryKey: ['usage'] })
  } catch (err) {
    sayFailed(err, spend.csvFailed)
  }
}

/** Saves the chart as CSV, if it has loaded. */
export function saveChart(cache: QueryClient, ask: Ask, group: Group, measure: Measure): void {
  const report = cache.getQueryData(reportQuery(ask, group).queryKey)
  if (report) saveCsv(`spend-over-time-${group}-${ask.from}-${ask.to}.csv`, chartRows(report, measure))
}

/** Returns the chart with exact values: one row per bar, one column per series. */
export function chartRows(report: Report, measure: Measure, at = now()): string[][] {
  const series = seriesOf(report.groups, measure)
  const value = (a: Amounts) => (measure === 'cost' ? usd(a.cost) : String(measured(a, measure)))
  const unit = measure === 'cost' ? 'cost_usd' : 'tokens'
  const names = series.map(id => (id === 'rest' ? '(all others)' : id === 'none' ? '' : id.slice(1)))
  return [
    ['from', 'to', unit, 'runs', 'unpriced_runs', ...names.map(n => `${unit} ${n}`.trim())],
    ...splitAll(timeSeriesOf(report, at), series).map(({ bin, parts }) => [
      bin.start,
      bin.end,
      bin.sums.unpriced > 0 && !bin.sums.priced ? '' : value(bin.sums),
      String(bin.sums.runs),
      String(bin.sums.unpriced),
      ...parts.map(value),
    ]),
  ]
}
