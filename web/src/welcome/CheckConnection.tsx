import type { Schemas } from '../api/client'
import { Doctor } from '../settings/Doctor'
import { Pairing } from '../settings/Pairing'
import { texts } from '../texts'
import { settings } from '../texts/settings'
import { welcome } from '../texts/welcome'
import { Skeleton } from '../ui/Views'

/** The doctor's checklist, and the pairing if needed. */
export function CheckConnection({ gateway }: { gateway: Schemas['GatewayStatus'] | undefined }) {
  if (!gateway) return <Skeleton label={`${texts.ui.loading} ${settings.gateway.what}`} rows={4} />
  return (
    <>
      <p>{welcome.doctor.text}</p>
      <Doctor state={gateway} />
      {gateway.connected_at === null && <Pairing />}
    </>
  )
}
