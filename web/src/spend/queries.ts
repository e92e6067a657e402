import { queryOptions, useQueries, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, type Schemas, take } from '../api/client'
import { useTicking } from '../app/clock'
import { useDrawn } from '../app/idle'
import type { Ask } from './period'
import { type Group, readReport } from './report'
import { type Bin, binKey, binsOf, type PartId, type Parts, partId, type SplitBin, splitBin } from './split'
import { type Amounts, amountsOf, isNothing, plus, type Report } from './sums'

/** The same as usage.csv, as text. */
export const readTable = (ask: Ask, group: Group): Promise<string> =>
  take(api.GET('/api/v1/usage.csv', { params: { query: { ...ask, group } }, parseAs: 'text' }))

export type Prices = Schemas['UsagePrices']
export type Price = Schemas['UsagePrice']

/** No event tells of new prices, so they are read whenever somebody comes to look at them. */
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

/**
 * The groups of one bar. The API adds up by group or by time, not by both, so each
 * bar that has something in it is asked for by itself. The key holds all that is in
 * the bar: one that has not changed is not asked again.
 */
const partQuery = (group: Group, zone: string, bin: Bin) =>
  queryOptions({
    queryKey: ['spend', 'part', group, zone, ...binKey(bin)] as const,
    queryFn: async ({ signal }): Promise<[PartId, Amounts][]> => {
      const report = await readReport({ from: bin.start, to: bin.end, zone, group }, signal)
      const parts = new Map<PartId, Amounts>()
      for (const g of report.groups) {
        const was = parts.get(partId(g))
        parts.set(partId(g), was ? plus(was, amountsOf(g)) : amountsOf(g))
      }
      return [...parts]
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 5 * 60_000,
  })

export interface Course {
  bins: Bin[]
  /** The groups of each bar, as far as they are known; older ones until the present ones are read. */
  parts: (Parts | undefined)[]
  /** How many bars could not be split, and how to try that again. */
  failed: number
  again: () => void
}

const quarter = 900_000

/** A report over time, with each bar's groups. */
export function useCourse(report: Report): Course {
  const cache = useQueryClient()
  // No hour of any zone begins between these.
  const now = useTicking(at => Math.floor(at / quarter) * quarter)
  const bins = useMemo(() => binsOf(report, now), [report, now])
  const { group, zone } = report
  const filled = useMemo(() => bins.filter(b => !isNothing(b.sums)), [bins])
  const drawn = useDrawn() // the bars stand before they are split
  const asked = useQueries({ queries: drawn ? filled.map(b => partQuery(group, zone, b)) : none, combine: results })
  const parts = useMemo(() => {
    const known = new Map<Bin, Parts>()
    filled.forEach((bin, i) => {
      const now = asked.data[i] ?? earlier(cache, group, zone, bin)
      if (now) known.set(bin, new Map(now))
    })
    return bins.map(b => known.get(b))
  }, [asked.data, filled, bins, cache, group, zone])
  const again = () =>
    void cache.refetchQueries({ queryKey: ['spend', 'part'], predicate: q => q.state.status === 'error' })
  return { bins, parts, failed: asked.failed, again }
}

const none: ReturnType<typeof partQuery>[] = []

const results = (list: readonly { data: [PartId, Amounts][] | undefined; error: unknown }[]) => ({
  data: list.map(r => r.data),
  failed: list.filter(r => r.error && !r.data).length,
})

/** What was last known of the groups of a bar that has grown since. */
function earlier(cache: ReturnType<typeof useQueryClient>, group: Group, zone: string, bin: Bin) {
  const known = cache
    .getQueryCache()
    .findAll({ queryKey: ['spend', 'part', group, zone, bin.start, bin.end] })
    .filter(q => q.state.data !== undefined)
  known.sort((a, b) => b.state.dataUpdatedAt - a.state.dataUpdatedAt)
  return known[0]?.state.data as [PartId, Amounts][] | undefined
}

/** Every bar split by some of the groups. */
export const splitAll = (course: Course, series: readonly PartId[]): SplitBin[] =>
  course.bins.map((bin, i) => splitBin(bin, series, course.parts[i]))
