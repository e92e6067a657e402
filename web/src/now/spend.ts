import type { Schemas } from '../api/client'
import { nanos, usd } from '../app/format'
import { hourIn } from '../app/time'

/** The argument type of format.cost. */
export interface Cost {
  cost_usd: string | null
  unpriced_runs: number
  runs: number
}

/** Sums the cost of a day up to an hour. Unpriced hours don't make the sum unknown. */
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

/**
 * Returns since when usage data is missing: a moment, or null if unknown. Undefined while the gateway is connected or
 * none is configured.
 */
export function awaySince(
  gateway: Pick<Schemas['GatewayStatus'], 'state' | 'connected_at' | 'last_seen_at'> | undefined,
): string | null | undefined {
  if (!gateway || gateway.state === 'not_configured' || gateway.connected_at !== null) return undefined
  return gateway.last_seen_at
}
