import { queryOptions } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, type Schemas, take } from '../api/client'
import { useTicking } from '../app/clock'
import { type Bin, type PartId, type Parts, type SplitBin, splitBin, timeSeriesOf } from './split'
import type { Report } from './sums'

export type Prices = Schemas['UsagePrices']
export type Price = Schemas['UsagePrice']

/** Price changes have no event, so the table is refetched on each visit. */
export const pricesQuery = queryOptions({
  queryKey: ['prices'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/prices', { signal })),
  staleTime: 0,
})

export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/agentrt/models', { signal })),
  retry: false,
})

export interface TimeSeries {
  bins: Bin[]
  /** The groups of each bar. */
  parts: Parts[]
}

const quarter = 900_000

/** Returns the bars of a report with their groups. */
export function useTimeSeries(report: Report): TimeSeries {
  // No time zone starts an hour between quarters.
  const now = useTicking(at => Math.floor(at / quarter) * quarter)
  return useMemo(() => timeSeriesOf(report, now), [report, now])
}

/** Splits every bar by the given groups. */
export const splitAll = (timeSeries: TimeSeries, series: readonly PartId[]): SplitBin[] =>
  timeSeries.bins.map((bin, i) => splitBin(bin, series, timeSeries.parts[i] ?? new Map()))
