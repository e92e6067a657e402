import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { texts } from '../texts'
import { queries } from './queries'

type Gateway = Pick<Schemas['GatewayStatus'], 'state' | 'scopes_missing'>

/** Why the gateway can't do something now, or null if it can. */
export interface Lacks {
  /** Start and stop runs. */
  runs: string | null
  /** Run and change scheduled jobs. */
  jobs: string | null
  /** Do anything, even after a while. */
  ever: string | null
}

/** Returns what the gateway can't do. A slow gateway can, and nothing is known before its state is. */
export function gatewayLacks(gateway: Gateway | undefined): Lacks {
  if (!gateway) return { runs: null, jobs: null, ever: null }
  const why = texts.app.live.gateway[gateway.state] ?? gateway.state
  const missing = (scope: RegExp) =>
    gateway.state === 'missing_scopes' && gateway.scopes_missing.some(s => scope.test(s))
  const away = !['connected', 'connecting', 'slow', 'missing_scopes'].includes(gateway.state)
  return {
    runs: away || missing(/\.(read|write)$/) ? why : null,
    jobs: away || missing(/\.(read|write|admin)$/) ? why : null,
    ever: gateway.state === 'not_configured' ? why : null,
  }
}

export const useGatewayLacks = (): Lacks => gatewayLacks(useQuery(queries.gateway).data)
