import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { gatewayLacks } from '../app/gatewayLacks'
import { leads, queries, useMe } from '../app/queries'
import { standups } from '../texts/standups'
import { Button, buttonClass } from '../ui/Button'
import { Empty } from '../ui/Views'
import { useOpen } from './actions'
import { dayText } from './Bits'
import { participantsOf } from './participants'
import { dayAddress } from './queries'
import { NoGateway, RunButton } from './RunButton'
import type { Standup } from './standup'
import { useAgentName } from './useAgentName'

const words = standups

interface StartProps {
  team: string
  onStarted?: (s: Standup) => void
}

/** Buttons to run today's standup, or to open it so that reports can be submitted first. */
function Start({ team, onStarted }: StartProps) {
  const me = useMe().data
  const open = useOpen(onStarted)
  return (
    <div className="flex flex-wrap items-center justify-center gap-2">
      <RunButton team={team} verb="run" {...(onStarted ? { onStarted } : {})} />
      {me && me.role !== 'user' && (
        <Button busy={open.isPending} look="quiet" onClick={() => open.mutate(team)}>
          {words.openOnly}
        </Button>
      )}
    </div>
  )
}

/** The empty state of a team without standups. Lists only known participants. */
export function NoneYet({ team, participants }: { team: string; participants: readonly string[] }) {
  const nameOf = useAgentName(undefined)
  const agents = useQuery(queries.agents)
  const gateway = useQuery(queries.gateway).data
  const asked = participantsOf(participants, agents.data, gateway?.connected_at != null)
  const nobodyYet =
    !agents.isPending &&
    asked.known.length + asked.without.length === 0 &&
    !asked.told &&
    gatewayLacks(gateway).runs !== null
  return (
    <div className="relative overflow-auto px-3 pt-2">
      <NoGateway history={false} />
      <Empty
        action={nobodyYet ? <ToGateway /> : <Start team={team} />}
        icon="standups"
        title={nobodyYet ? words.none.nobody : words.none.title}
      >
        <p>{words.none.text}</p>
        {asked.known.length > 0 && (
          <p className="mt-2">
            <bdi>{words.none.asked(asked.known.map(nameOf).join(', '))}</bdi>
          </p>
        )}
        {asked.without.length > 0 && (
          <p className="mt-2 text-attention">
            <bdi>{words.none.without(asked.without.map(nameOf))}</bdi>{' '}
            <Link className="underline" to="/settings/agents">
              {words.none.toAccounts}
            </Link>
          </p>
        )}
        {nobodyYet && <p className="mt-2">{words.none.nobodyText}</p>}
        {asked.nobody.length > 0 && (
          <p className="mt-2 text-attention">
            <bdi>{words.none.unknown(asked.nobody)}</bdi>{' '}
            <Link className="underline" search={{ team }} to="/settings/teams">
              {words.none.toTeams}
            </Link>
          </p>
        )}
      </Empty>
    </div>
  )
}

/** Links to First steps for the owner and admins, else to the gateway's status. */
function ToGateway() {
  const me = useMe().data
  return leads(me) ? (
    <Link className={buttonClass('primary')} search={{ step: 'connect' }} to="/welcome">
      {words.none.toSetup}
    </Link>
  ) : (
    <Link className={buttonClass()} to="/settings/gateway">
      {words.toSettings}
    </Link>
  )
}

/** The empty state of a day. */
export function NoneOfDay({ team, day, isToday, onStarted }: StartProps & { day: string; isToday: boolean }) {
  return (
    <div className="relative overflow-auto px-3 pt-2">
      {isToday && <NoGateway />}
      <Empty
        action={
          <div className="flex flex-wrap items-center justify-center gap-2">
            {isToday && <Start team={team} {...(onStarted ? { onStarted } : {})} />}
            <Link className={buttonClass()} search={dayAddress(team)} to="/standups">
              {words.none.latest}
            </Link>
          </div>
        }
        icon="standups"
        title={words.none.ofDay(dayText(day))}
      >
        {words.none.ofDayText}
      </Empty>
    </div>
  )
}

/** A banner above the latest standup if it is not today's. */
export function NoneOfToday({ team, today }: { team: string; today: string }) {
  return (
    <div className="no-print flex flex-wrap items-center gap-x-3 gap-y-2 border-line border-b bg-panel px-3 py-2 md:px-6">
      <p className="grow">{words.none.today(dayText(today))}</p>
      <Start team={team} />
    </div>
  )
}
