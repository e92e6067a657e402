import type { Schemas } from '../api/client'
import { nanos } from '../app/format'
import { knownOf } from '../spend/ledger'
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

/**
 * Since when the ledger hears nothing of the runtime: a moment, or null for one that nobody knows any more. Undefined
 * while it is heard, and where there is none to hear.
 */
export function awaySince(
  gateway: Pick<Schemas['GatewayStatus'], 'state' | 'connected_at' | 'last_seen_at'> | undefined,
): string | null | undefined {
  if (!gateway || gateway.state === 'not_configured' || gateway.connected_at !== null) return undefined
  return gateway.last_seen_at
}

const hour = 3_600_000

/**
 * What an agent's runs of an hour cost, from a report of that hour that was read
 * some time ago. The report is read anew whenever the ledger grows: one that is
 * older than an hour says that nothing was spent since. Null is "nobody can say":
 * without a row an agent had no runs only if the runtime has it and can be asked,
 * the ledger has all of the hour, and the rest does not hide it. Of a run that goes on
 * the ledger knows nothing before its end.
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
