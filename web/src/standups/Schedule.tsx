import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../api/client'
import { myZone, shortIn } from '../app/format'
import { leads, queries, useMe } from '../app/queries'
import { texts } from '../texts'
import { standups } from '../texts/standups'
import { Age } from '../ui/Age'
import { buttonClass } from '../ui/Button'
import { Clock } from '../ui/Clock'
import { Icon } from '../ui/Icon'
import { Answer } from '../ui/Views'
import { scheduleQuery } from './queries'

const words = standups.schedule

/** The job that starts the standups, and its next run. */
export function Schedule({ team }: { team: string }) {
  const gateway = useQuery(queries.gateway).data
  const asks = gateway !== undefined && gateway.state !== 'not_configured'
  const asked = useQuery({ ...scheduleQuery(team), enabled: asks })
  return (
    <section className="no-print flex flex-col gap-2">
      <h3 className="font-semibold text-base">{words.title}</h3>
      {gateway?.state === 'not_configured' ? (
        <p className="text-soft">{words.noGateway}</p>
      ) : (
        <Answer of={asked} rows={2} what={words.what}>
          {s => (s ? <Job of={s} /> : <None />)}
        </Answer>
      )}
    </section>
  )
}

function None() {
  const may = leads(useMe().data)
  return (
    <>
      <p className="text-soft">{words.none}</p>
      {may && (
        <Link className={buttonClass('plain', 'self-start')} search={{ form: 'standup' }} to="/schedules">
          <Icon name="plus" />
          {words.add}
        </Link>
      )}
    </>
  )
}

function Job({ of: s }: { of: Schemas['StandupSchedule'] }) {
  const next = s.next_runs[0]
  const zone = s.job.schedule.tz
  return (
    <>
      {!s.job.enabled ? (
        <p className="flex gap-1.5 text-attention">
          <Icon name="off" />
          {words.disabled}
        </p>
      ) : next ? (
        <p>
          {words.next} <Age at={next} />: <Clock at={next} zone={zone} />
          {zone && zone !== myZone() && (
            <span className="block text-soft text-xs">{words.inZone(shortIn(next, zone), zone)}</span>
          )}
        </p>
      ) : (
        <p className="text-soft">{words.unknownNext}</p>
      )}
      {!s.live && (
        <p className="text-attention text-xs">
          {words.asSeen} <Age at={s.seen_at} /> {texts.ui.ago}
        </p>
      )}
      {s.job.enabled && !s.watched && s.unwatched_because && (
        <p className="text-soft text-xs">
          {words.notWatched} <bdi>{s.unwatched_because}</bdi>
        </p>
      )}
      {s.fallback && <p className="text-soft text-xs">{words.fallback}</p>}
      {s.warnings.map(w => (
        <p key={w} className="wrap-anywhere flex gap-1.5 text-attention text-xs">
          <Icon className="size-3.5" name="warning" />
          <bdi className="min-w-0">{w}</bdi>
        </p>
      ))}
      <Link className="self-start text-accent underline" to="/schedules">
        {words.open}
      </Link>
    </>
  )
}
