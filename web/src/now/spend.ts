import type { Schemas } from '../api/client'
import { nanos } from '../app/format'
import { hourIn } from './time'

/** What format.cost takes. */
export interface Cost {
  cost_usd: string | null
  unpriced_runs: number
  runs: number
}

/** Nano-dollars as the API writes dollars. */
export function usd(n: bigint): string {
  const size = n < 0n ? -n : n
  return `${n < 0n ? '-' : ''}${size / 1_000_000_000n}.${String(size % 1_000_000_000n).padStart(9, '0')}`
}

/** What the hours of a day cost until an hour of it begins. Hours without a price do not make the others unknown. */
export function until(series: readonly Schemas['UsageSlot'][], hour: number, zone: string | undefined): Cost {
  let sum = 0n
  let priced = false
  let runs = 0
  let unpriced = 0
  for (const slot of series) {
    if (hourIn(Date.parse(slot.start), zone) >= hour) continue
    const n = nanos(slot.cost_usd)
    if (n !== null) {
      sum += n
      priced = true
    }
    runs += slot.runs
    unpriced += slot.unpriced_runs
  }
  return { cost_usd: priced || runs === 0 ? usd(sum) : null, unpriced_runs: unpriced, runs }
}

const hour = 3_600_000

/**
 * What an agent's runs of an hour cost, from a report of that hour that was read
 * some time ago. The report is read anew whenever the ledger grows: one that is
 * older than an hour says that nothing was spent since.
 */
export function burn(groups: readonly Schemas['UsageShare'][], agent: string, readAt: number, now: number): Cost {
  const share = now - readAt < hour ? groups.find(g => g.key === agent) : undefined
  return share ?? { cost_usd: '0', unpriced_runs: 0, runs: 0 }
}
