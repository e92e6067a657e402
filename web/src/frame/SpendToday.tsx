import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, take } from '../api/client'
import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { cost } from '../app/format'
import { texts } from '../texts'

/** The day of the service's zone, such as 2026-11-20. */
const dayIn = (now: number, zone: string): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(now)

/** What the agents have cost since midnight, as far as it is known. */
export function SpendToday() {
  const zone = useZone()
  const day = useTicking(now => (zone ? dayIn(now, zone) : null))
  const usage = useQuery({
    queryKey: ['usage', 'today', day],
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/usage', { params: { query: { from: day ?? '', group: 'day' } }, signal })),
    enabled: day !== null,
  }).data
  if (!usage) return null
  return (
    <Link
      className="hidden shrink-0 rounded-md px-2 py-1 text-soft text-xs hover:bg-hover hover:text-ink sm:inline"
      title={texts.app.spendToday}
      to="/spend"
    >
      <span className="font-medium text-ink">{cost(usage.total)}</span> {texts.app.today}
    </Link>
  )
}
