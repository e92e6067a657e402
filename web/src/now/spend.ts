import type { Schemas } from '../api/client'
import { nanos } from '../app/format'
import { knownOf } from '../spend/ledger'
import { hourIn } from './time'

/** The argument type of format.cost. */
export interface Cost {
  cost_usd: string | null
  unpriced_runs: number
  runs: number
}

/** Converts nano-dollars to a decimal string. */
export function usd(n: bigint): string {
  const size = n < 0n ? -n : n
  return `${n < 0n ? '-' : ''}${size / 1_000_000_000n}.${String(size % 1_000_000_000n).padStart(9, '0')}`
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

const hour = 3_600_000

/**
 * Returns the cost of an agent's runs in the hour before the report. The report is refetched when the ledger grows, so
 * one older than an hour means no cost since. Null means unknown: without a row, the agent had no runs only if the
 * runtime has the agent, the gateway is connected, the ledger covers the hour, and no combined rest hides it. Active
 * runs are not in the ledger yet.
 */
export function burn(
  report: Pick<Schemas['UsageReport'], 'from' | 'to' | 'ledger_begins_at' | 'followed_since' | 'groups'>,
  agent: Pick<Schemas['Agent'], 'agent_id' | 'in_runtime'> & {
    presence: Pick<Schemas['AgentPresence'], 'state'> | null
  },
  readAt: number,
  now: number,
): Cost | null {
  const groups = now - readAt < hour ? report.groups : []
  const share = groups.find(g => g.key === agent.agent_id && !g.rest)
  if (share) return share
  if (agent.presence?.state === 'active') return null
  if (!agent.in_runtime || knownOf(report, readAt) !== 'all' || groups.some(g => g.rest)) return null
  return { cost_usd: '0', unpriced_runs: 0, runs: 0 }
}
