import type { QueryClient } from '@tanstack/react-query'
import { spend } from '../texts/spend'
import { say } from '../ui/toast'
import { csvTotal } from './csv'
import type { Ask } from './period'
import { readTable } from './queries'
import { type Group, reportQuery } from './report'
import { amountsOf, type Report } from './sums'

/** Maximum number of times to fetch the file. It is fetched again if runs ended during the export. */
const tries = 3

/** Returns whether a file and a report have the same runs and cost. */
export function agrees(file: string, report: Report): boolean {
  const sum = csvTotal(file)
  return sum.runs === report.total.runs && sum.cost === amountsOf(report.total).cost
}

/**
 * Downloads the server's CSV of a report. If runs ended since the page loaded, the page is refetched, so that both
 * agree.
 */
export async function tableOf(cache: QueryClient, ask: Ask, group: Group): Promise<string> {
  const query = reportQuery(ask, group)
  let file = ''
  for (let i = 0; i < tries; i++) {
    file = await readTable(ask, group)
    const shown = cache.getQueryData(query.queryKey)
    if (shown === undefined || agrees(file, shown)) return file
    await cache.refetchQueries({ queryKey: query.queryKey, exact: true })
    const anew = cache.getQueryData(query.queryKey)
    if (anew !== undefined && agrees(file, anew)) return file
  }
  say(spend.csvGrew)
  return file
}
