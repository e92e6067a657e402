import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { dayIn } from '../app/days'
import { cost, money, unknown } from '../app/format'
import { activeRunsQuery, soFar } from '../spend/activeRuns'
import { askOf } from '../spend/period'
import { reportQuery } from '../spend/report'
import { known } from '../spend/sums'
import { texts } from '../texts'
import { useIsLive } from './ConnectionStatus'

/** Today's spend with that of active runs so far, linked to the Spend page. Hidden on Now beside its card, which a phone shows further down. */
export function SpendToday() {
  const zone = useZone()
  const onNow = useLocation({ select: at => at.pathname === '/' })
  return zone && <Today className={onNow ? 'sm:hidden' : ''} zone={zone} />
}

function Today({ zone, className }: { zone: string; className: string }) {
  const day = useTicking(now => dayIn(now, zone))
  const { data, error } = useQuery(reportQuery(askOf({ first: day, last: day }, zone), 'day'))
  const active = useQuery(activeRunsQuery).data?.runs
  const well = useIsLive()
  if (!data && !error) return null
  const of = data && known(data.total)
  const title = [
    `${texts.app.spendToday} (${zone})`,
    of && texts.app.spendTodayKnown(money(of.runtime), money(of.estimated), of.unpriced),
    active?.length && texts.app.spendTodayActive(cost(soFar(active))),
  ]
  return (
    <Link
      className={`min-w-0 truncate rounded-md px-1 py-1 text-soft text-xs hover:bg-hover hover:text-ink sm:shrink-0 sm:px-2 ${well ? '' : 'max-sm:hidden'} ${className}`}
      search={{ period: 'today' }}
      title={title.filter(Boolean).join('\n')}
      to="/spend"
    >
      <span className="font-medium text-ink">{data ? cost(soFar(active ?? [], data.total)) : unknown}</span>{' '}
      {texts.app.today}
    </Link>
  )
}
