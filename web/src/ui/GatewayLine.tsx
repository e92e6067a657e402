import { useQuery } from '@tanstack/react-query'
import { queries } from '../app/queries'
import { texts } from '../texts'
import { Icon } from './Icon'
import { TextLink } from './TextLink'

/** A banner with the gateway problem and a link to the settings; nothing while the gateway is connected. */
export function GatewayLine({ children }: { children: string }) {
  const status = useQuery(queries.gateway).data
  const away = status && texts.app.live.gateway[status.state]
  if (!away) return null
  return (
    <p
      className="flex shrink-0 flex-wrap items-center gap-x-1.5 bg-attention-tint px-3 py-1 text-attention text-xs"
      role="status"
    >
      <Icon className="size-3.5" name="off" />
      <span className="font-medium">{away}.</span>
      <bdi className="wrap-anywhere">{status.error}</bdi> {children}{' '}
      <TextLink className="underline" href="/settings/gateway">
        {texts.app.places.settings}
      </TextLink>
    </p>
  )
}
