import type { Schemas } from '../api/client'
import { clock } from '../app/time'

const minute = 60_000
const week = 7 * 24 * 60 * minute

/** Returns the same minute of the same weekday a week before, by the clock of a time zone, also when its clocks change. */
export function weekBefore(now: number, zone: string | undefined): number {
  const start = Math.floor(now / minute) * minute
  const of = (at: number) => {
    const [hours = 0, minutes = 0] = clock(at, zone).split(':').map(Number)
    return hours * 60 + minutes
  }
  const before = start - week
  const day = 24 * 60
  const off = ((of(start) - of(before) + day + day / 2) % day) - day / 2
  return before + off * minute
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
