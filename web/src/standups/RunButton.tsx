import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { gatewayLacks, useGatewayLacks } from '../app/gatewayLacks'
import { queries, useMe } from '../app/queries'
import { standups } from '../texts/standups'
import { Button } from '../ui/Button'
import { Icon } from '../ui/Icon'
import { useHold } from './actions'
import type { Standup } from './standup'

const words = standups

interface Props {
  verb: 'run' | 'retry'
  /** The standup to run; by default today's standup of the team. */
  id?: string
  team: string
  onStarted?: (s: Standup) => void
}

/** The button that runs a standup. */
export function RunButton({ verb, id, team, onStarted }: Props) {
  const me = useMe().data
  const lacks = useGatewayLacks()
  const hold = useHold(onStarted)
  if (me?.role === 'user') return <p className="text-soft text-xs">{words.whoMayRun}</p>
  return (
    <Button
      busy={hold.isPending}
      disabled={lacks.runs !== null}
      icon={verb === 'retry' ? 'reload' : 'standups'}
      look="primary"
      onClick={() => hold.mutate({ team, ...(id ? { id } : {}) })}
    >
      {words[verb]}
    </Button>
  )
}

/** A banner that explains why no standup can run. */
export function NoGateway({ history = true }: { history?: boolean }) {
  const gateway = useQuery(queries.gateway).data
  if (!gateway || gatewayLacks(gateway).runs === null) return null
  return (
    <div
      className="no-print flex flex-wrap items-start gap-x-2 gap-y-1 rounded-md bg-attention-tint px-3 py-2 text-attention"
      role="status"
    >
      <Icon className="mt-px" name="off" />
      <div className="wrap-anywhere min-w-0 grow basis-60">
        <p className="font-medium">{gateway.state === 'not_configured' ? words.gatewayUnset : words.noGateway}</p>
        {gateway.error && (
          <p>
            <bdi>{gateway.error}</bdi>
          </p>
        )}
        {history && <p>{words.noGatewayHistory}</p>}
      </div>
      <Link className="underline" to="/settings/gateway">
        {words.toSettings}
      </Link>
    </div>
  )
}
