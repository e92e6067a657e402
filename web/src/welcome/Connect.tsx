import type { Schemas } from '../api/client'
import { Command } from '../settings/Bits'
import { Connection } from '../settings/Gateway'
import { GatewaySettings } from '../settings/GatewaySettings'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { welcome } from '../texts/welcome'
import { Skeleton } from '../ui/Views'

const words = welcome.connect
export const adminScope = 'AGENTRT_GATEWAY_SCOPES=operator.read,operator.write,operator.admin'

/** The gateway's connection status, and its address and token until it connects. */
export function Connect({ gateway }: { gateway: Schemas['GatewayStatus'] | undefined }) {
  if (!gateway) return <Skeleton label={`${texts.ui.loading} ${settings.gateway.what}`} rows={4} />
  const none = gateway.state === 'not_configured'
  return (
    <>
      {none ? <p>{words.text}</p> : <Connection of={gateway} />}
      {gateway.connected_at === null && <GatewaySettings />}
      {none && (
        <div className="flex flex-col gap-2">
          <p className="text-soft">{words.scopes}</p>
          <Command text={adminScope} />
        </div>
      )}
      {gateway.connected_at === null && (
        <p className="text-soft" role="status">
          {words.waiting}
        </p>
      )}
    </>
  )
}
