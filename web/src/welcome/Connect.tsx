import type { Schemas } from '../api/client'
import { Command } from '../settings/Bits'
import { Connection, gatewaySettings } from '../settings/Gateway'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { welcome } from '../texts/welcome'
import { State } from '../ui/State'
import { Skeleton } from '../ui/Views'

const words = welcome.connect
export const adminScope = 'AGENTRT_GATEWAY_SCOPES=operator.read,operator.write,operator.admin'

/** The settings that configure the gateway, or its connection status. */
export function Connect({ gateway }: { gateway: Schemas['GatewayStatus'] | undefined }) {
  if (!gateway) return <Skeleton label={`${texts.ui.loading} ${settings.gateway.what}`} rows={4} />
  if (gateway.state === 'not_configured') {
    return (
      <div className="flex flex-col gap-2">
        <p>{words.text}</p>
        <Command text={gatewaySettings} />
        <p className="text-soft text-xs">{settings.gateway.variablesHelp}</p>
        <p>{words.scopes}</p>
        <Command text={adminScope} />
        <p className="text-soft" role="status">
          {words.waiting}
        </p>
      </div>
    )
  }
  return (
    <>
      <p>
        <State tone="active">{words.set}</State>
      </p>
      <Connection of={gateway} />
      {gateway.connected_at === null && (
        <p className="text-soft" role="status">
          {words.waiting}
        </p>
      )}
    </>
  )
}
