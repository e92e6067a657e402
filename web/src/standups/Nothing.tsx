import { Link } from '@tanstack/react-router'
import { useMe } from '../app/queries'
import { standups } from '../texts/standups'
import { Button, buttonClass } from '../ui/Button'
import { Empty } from '../ui/Views'
import { useOpen } from './actions'
import { dayText } from './Bits'
import { Hold, NoGateway } from './Hold'
import { dayAddress } from './queries'
import type { Standup } from './standup'
import { useAgentName } from './useAgentName'

const words = standups

interface StartProps {
  team: string
  onStarted?: (s: Standup) => void
}

/** Today's standup may be run, or only opened, so that reports can be handed in before. */
function Start({ team, onStarted }: StartProps) {
  const me = useMe().data
  const open = useOpen(onStarted)
  return (
    <div className="flex flex-wrap items-center justify-center gap-2">
      <Hold team={team} verb="run" {...(onStarted ? { onStarted } : {})} />
      {me && me.role !== 'user' && (
        <Button busy={open.isPending} look="quiet" onClick={() => open.mutate(team)}>
          {words.openOnly}
        </Button>
      )}
    </div>
  )
}

/** A team that has never met. */
export function NoneYet({ team, participants }: { team: string; participants: readonly string[] }) {
  const nameOf = useAgentName(undefined)
  return (
    <div className="relative overflow-auto px-3 pt-2">
      <NoGateway />
      <Empty action={<Start team={team} />} icon="standups" title={words.none.title}>
        <bdi>
          {participants.length > 0 ? words.none.text(participants.map(nameOf).join(', ')) : words.none.textAlone}
        </bdi>
      </Empty>
    </div>
  )
}

/** A day on which nobody met. */
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

/** Above the latest standup when that is not today's. */
export function NoneOfToday({ team, today }: { team: string; today: string }) {
  return (
    <div className="no-print flex flex-wrap items-center gap-x-3 gap-y-2 border-line border-b bg-panel px-3 py-2 md:px-6">
      <p className="grow">{words.none.today(dayText(today))}</p>
      <Start team={team} />
    </div>
  )
}
