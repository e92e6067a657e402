import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { dayIn } from '../app/days'

/** Today where the service counts its days; null until its zone is known. */
export function useDay(): string | null {
  const zone = useZone()
  return useTicking(now => (zone ? dayIn(now, zone) : null))
}
