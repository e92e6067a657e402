import { useQuery } from '@tanstack/react-query'
import { useTicking, useTickingHere } from '../app/clock'
import { span } from '../app/format'
import { heardAt, useLineState } from '../app/live'
import { queries } from '../app/queries'
import { texts } from '../texts'
import { State } from '../ui/State'

const words = texts.app.live

/** Returns whether data is live. If not, the status needs its text, even on a phone. */
export function useIsLive(): boolean {
  const line = useLineState()
  const gateway = useQuery(queries.gateway).data
  return line === 'live' && !(gateway && words.gateway[gateway.state])
}

/** Shows whether data is live: first the connection to the server, then the gateway. */
export function ConnectionStatus() {
  const line = useLineState()
  const gateway = useQuery(queries.gateway).data
  const quiet = useTickingHere(now => {
    const at = heardAt()
    return line === 'live' || at === null ? '' : span(now - at)
  })
  // A gateway that isn't configured hasn't gone offline, so no duration is shown.
  const since = gateway?.state === 'not_configured' ? undefined : gateway?.since
  const gone = useTicking(now => (since ? span(now - Date.parse(since)) : ''))
  const away = line === 'live' && gateway ? words.gateway[gateway.state] : undefined
  return (
    <span aria-live="polite" className="flex shrink-0 items-center text-xs">
      {away ? (
        <State icon="off" title={`${words.gatewayHelp} ${gateway?.error ?? ''}`} tone="attention">
          {away}
          {gone && (
            <span aria-hidden="true" className="hidden sm:inline">
              {gone}
            </span>
          )}
        </State>
      ) : line === 'live' ? (
        // On a phone the status shows only what is wrong.
        <span className="max-sm:sr-only">
          <State title={words.liveHelp} tone="active">
            {words.live}
          </State>
        </span>
      ) : (
        <State
          icon="off"
          title={line === 'stale' ? words.staleHelp : words.offlineHelp}
          tone={line === 'stale' ? 'attention' : 'danger'}
        >
          {words[line]}
          {/* Announced once, not every second. */}
          <span aria-hidden="true">{quiet}</span>
        </State>
      )}
    </span>
  )
}
