import { useQuery } from '@tanstack/react-query'
import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { addDays } from '../app/days'
import { cost, nanos, unknown } from '../app/format'
import { queries } from '../app/queries'
import { clock } from '../app/time'
import { ActiveRunsLine } from '../spend/ActiveRunsLine'
import { activeRunsQuery, soFar } from '../spend/activeRuns'
import { Headroom } from '../spend/Headroom'
import { knownOf } from '../spend/ledger'
import { texts } from '../texts'
import { now as nowWords } from '../texts/now'
import { Age } from '../ui/Age'
import { Icon } from '../ui/Icon'
import { Answer } from '../ui/Views'
import { Card } from './Card'
import { todayQuery, weekQuery } from './queries'
import { awaySince, weekBefore } from './spend'
import { useDay } from './useDay'

const words = nowWords.money

/** Today's spend so far, and that of the same weekday a week ago by this hour. */
export function SpendCard({ className }: { className: string }) {
  const day = useDay()
  const today = useQuery(todayQuery(day))
  const active = useQuery(activeRunsQuery).data?.runs
  return (
    <Card className={className} title={words.title} to={{ path: '/spend', label: texts.app.places.spend }}>
      <Answer of={today} rows={2} what={words.what}>
        {({ total }) => (
          <div className="flex flex-col gap-1 px-3 py-2">
            <div className="flex flex-wrap items-baseline gap-x-2">
              <span className="font-semibold text-2xl">{cost(soFar(active ?? [], total))}</span>
              <span className="text-soft">
                {words.known(total.runs)}
                {(nanos(total.estimated_usd) ?? 0n) > 0n &&
                  ` · ${cost({ ...total, cost_usd: total.estimated_usd, unpriced_runs: 0 })} ${words.estimated}`}
              </span>
              {/* Beside the sum, so that nothing below jumps when runs start or end. */}
              <ActiveRunsLine />
            </div>
            <AsOf />
            <Headroom />
            {day && <WeekBefore day={day} />}
          </div>
        )}
      </Answer>
    </Card>
  )
}

/** The age of the data while the gateway is offline. */
function AsOf() {
  const away = awaySince(useQuery(queries.gateway).data)
  if (away === undefined) return null
  return (
    <p className="flex flex-wrap items-center gap-x-1 text-attention text-xs">
      <Icon className="size-3.5" name="clock" />
      {away === null ? (
        words.asOfUnknown
      ) : (
        <span>
          {words.asOf} <Age at={away} /> {words.asOfAgo}
        </span>
      )}
    </p>
  )
}

function WeekBefore({ day }: { day: string }) {
  const zone = useZone()
  const asked = useQuery(weekQuery(day))
  // A week ago at this minute. The reader's clock shows the minute, which is theirs.
  const until = useTicking(now => weekBefore(now, zone))
  const begun = useQuery(weekQuery(day, until)).data
  if (!asked.data) return asked.error ? <p className="text-soft">{words.couldNot}</p> : null
  const { total, ledger_begins_at: begins } = asked.data
  const weekday = clock(`${addDays(day, -7)}T12:00:00Z`, 'UTC', 'long')
  const known = knownOf(asked.data, asked.dataUpdatedAt)
  if (known === 'nothing') return <p className="text-soft">{words.notKnown(weekday)}</p>
  // A partial morning would look like a full one.
  const byNow = begun && (known === 'all' || known === 'least') ? cost(begun.total) : unknown
  const at = begun ? Date.parse(begun.to) : until
  return (
    <p className="text-soft">
      {words.before(weekday)}:{' '}
      {(known !== 'all' || byNow !== cost(total)) && (
        <>
          <span className="text-ink">{byNow}</span> {words.by(clock(at, undefined))},{' '}
        </>
      )}
      <span className="text-ink">{cost(total)}</span>{' '}
      {known === 'part' && begins
        ? words.since(clock(begins, undefined))
        : known === 'least'
          ? words.least
          : words.whole}
    </p>
  )
}
