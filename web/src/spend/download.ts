import type { QueryClient } from '@tanstack/react-query'
import { spend } from '../texts/spend'
import { say } from '../ui/Toast'
import { csvTotal } from './csv'
import type { Ask } from './period'
import { readTable } from './queries'
import { type Group, reportQuery } from './report'
import { amountsOf, type Report } from './sums'

/** How often a file is made anew because runs ended meanwhile. */
const tries = 3

/** Whether a file says what a report says: the same runs and the same cost, to the last digit. */
export function agrees(file: string, report: Report): boolean {
  const sum = csvTotal(file)
  return sum.runs === report.total.runs && sum.cost === amountsOf(report.total).cost
}

/**
 * The service's table of what is shown. When runs have ended since the page was
 * read, the page is read anew, so that both say the same in the end.
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
