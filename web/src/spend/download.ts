import type { QueryClient } from '@tanstack/react-query'
import { api, take } from '../api/client'
import { spend } from '../texts/spend'
import { saveFile } from '../ui/saveFile'
import { sayFailed } from '../ui/toast'
import type { Ask } from './period'
import type { Group } from './report'

/**
 * Saves a report as CSV, by group or by bar and group. Refetches the page, because runs may have ended since it loaded,
 * and both should agree.
 */
export async function saveReport(cache: QueryClient, ask: Ask, group: Group, bars = false): Promise<void> {
  try {
    const query = { ...ask, group, bars, bom: true }
    saveFile(
      `spend-${bars ? 'over-time-' : ''}by-${group}-${ask.from}-${ask.to}.csv`,
      await take(api.GET('/api/v1/usage.csv', { params: { query }, parseAs: 'blob' })),
    )
    await cache.invalidateQueries({ queryKey: ['usage'] })
  } catch (err) {
    sayFailed(err, spend.csvFailed)
  }
}
