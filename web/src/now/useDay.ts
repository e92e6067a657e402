import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { dayIn } from '../app/days'

/** Returns today in the server's time zone, or null until it is known. */
export function useDay(): string | null {
  const zone = useZone()
  return useTicking(now => (zone ? dayIn(now, zone) : null))
}
