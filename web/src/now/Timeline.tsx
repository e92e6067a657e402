import { useQueries, useQuery } from '@tanstack/react-query'
import { Fragment, useMemo } from 'react'
import { useTicking } from '../app/clock'
import { dayIn } from '../app/days'
import { headline } from '../app/headline'
import { queries, usePeople } from '../app/queries'
import { clock } from '../app/time'
import { liveQuery } from '../sessions/queries'
import { useSessionNames } from '../sessions/useSessionNames'
import { oneQuery } from '../tasks/queries'
import { texts } from '../texts'
import { now as nowWords } from '../texts/now'
import { Clock } from '../ui/Clock'
import { Face } from '../ui/Face'
import { Icon } from '../ui/Icon'
import { Keys } from '../ui/Keys'
import { toneText } from '../ui/State'
import { TextLink } from '../ui/TextLink'
import { Answer, Partial, Skeleton } from '../ui/Views'
import { Card, Nothing } from './Card'
import { activityQuery, slotsQuery, standupQuery } from './queries'
import { hourOf, type Row, timeline } from './timelineRows'

const words = nowWords.timeline

/** Maximum number of rows after and before now. */
const mostNext = 3
const mostPast = 13

/** What comes next, the nearest first, and what happened in the last hours, the latest first. */
export function Timeline({ className }: { className: string }) {
  const events = useQuery(activityQuery)
  const slots = useQuery(slotsQuery(useTicking(hourOf)))
  const live = useQuery(liveQuery)
  const sessions = live.data
  const people = usePeople()
  // Every minute, which is as fine as the rows show.
  const now = useTicking(at => Math.floor(at / 60_000) * 60_000)
  const known = useMemo(
    () => ({
      slots: slots.data?.slots ?? [],
      sessions: sessions?.rows ?? [],
      events: events.data ?? [],
      people,
    }),
    [slots.data, sessions, events.data, people],
  )
  const { next, past } = useMemo(() => timeline(known, now + 59_999), [known, now])
  return (
    <Card className={className} title={words.title} to={{ path: '/schedules', label: texts.app.places.schedules }}>
      <Answer of={events} rows={6} what={words.what}>
        {() => (
          <>
            {slots.error ? <Partial>{words.noSlots}</Partial> : null}
            {next.length + past.length === 0 ? (
              slots.isPending || live.isPending ? (
                <Skeleton label={`${texts.ui.loading} ${words.what}`} rows={6} />
              ) : (
                <Nothing title={words.none}>{words.noneHelp}</Nothing>
              )
            ) : (
              <Rows next={next.slice(0, mostNext)} now={now} past={past.slice(0, mostPast)} />
            )}
          </>
        )}
      </Answer>
    </Card>
  )
}

function Rows({ next, past, now }: { next: readonly Row[]; past: readonly Row[]; now: number }) {
  const keys = useMemo(() => past.flatMap(r => r.session ?? []), [past])
  const nameOf = useSessionNames(keys)
  const tasks = useMemo(() => [...new Set(past.flatMap(r => r.task ?? []))], [past])
  const titles = useQueries({ queries: tasks.map(t => oneQuery(t)), combine: titlesOf })
  const standup = useQuery(standupQuery).data
  const summary = standup?.status === 'completed' ? headline(standup.summary) : null
  const noted = past.find(r => standup && r.href.endsWith(standup.id))?.id
  return (
    <ol className="py-1">
      {next.map((r, i) => (
        <Fragment key={r.id}>
          {dayOf(r.at) !== dayOf(next[i - 1]?.at ?? 0) && (
            <li className="px-3 pt-1 pb-0.5 text-soft text-xs">
              {words.upcoming}, {dayOf(r.at) === dayOf(now) ? texts.app.today : clock(r.at, undefined, 'long')}
            </li>
          )}
          <Line row={r} />
        </Fragment>
      ))}
      <li className="flex items-center gap-2 px-3 py-1 text-accent text-xs">
        <span className="w-11 shrink-0 font-medium">{clock(now, undefined)}</span>
        {words.now}
        <span aria-hidden="true" className="h-px grow bg-accent opacity-40" />
      </li>
      {past.map((r, i) => (
        <Fragment key={r.id}>
          {dayOf(r.at) !== dayOf(past[i - 1]?.at ?? now) && (
            <li className="px-3 pt-1.5 pb-0.5 text-soft text-xs">{clock(r.at, undefined, 'long')}</li>
          )}
          <Line
            note={r.id === noted ? summary : null}
            row={r.session ? { ...r, what: nameOf(r.session).name } : r}
            title={r.task && titles.get(r.task)}
          />
        </Fragment>
      ))}
    </ol>
  )
}

const titlesOf = (list: readonly { data: { key: string; title: string } | undefined }[]) =>
  new Map(list.flatMap(t => (t.data ? [[t.data.key, t.data.title] as const] : [])))

const dayOf = (at: string | number): string => dayIn(typeof at === 'string' ? Date.parse(at) : at, undefined)

interface LineProps {
  row: Row
  /** The title of the row's task. */
  title?: string | undefined
  note?: string | null
}

function Line({ row, title, note = null }: LineProps) {
  const agents = useQuery(queries.agents).data
  const name = agents?.find(a => a.agent_id === row.agent)?.name ?? row.agent
  const bad = row.tone === 'danger'
  return (
    <li className="flex items-start gap-2 px-3 py-1" data-tone={row.tone}>
      <Clock at={row.at} className="w-11 shrink-0 text-soft text-xs leading-5">
        {clock(row.at, undefined)}
      </Clock>
      <Icon className={`mt-[3px] size-3.5 ${toneText(row.tone)}`} name={row.icon} />
      {row.agent !== null && (
        <span className="flex" title={name ?? ''}>
          <Face agent={row.agent} name={name ?? ''} />
          <span className="sr-only">{name}</span>
        </span>
      )}
      <p className="wrap-anywhere min-w-0 grow leading-5">
        {row.deed && (
          <>
            <span className="text-soft">
              {row.agent === null && <bdi>{row.who}</bdi>} {row.deed}
            </span>{' '}
          </>
        )}
        <TextLink className="hover:underline" href={row.href}>
          <bdi className={row.task ? 'key' : ''}>{row.task ? row.what : <Keys>{row.what}</Keys>}</bdi>{' '}
          {title && (
            <bdi>
              <Keys>{title}</Keys>
            </bdi>
          )}
        </TextLink>{' '}
        <span className={bad ? 'text-danger' : 'text-soft'}>{row.after}</span>
        {note && (
          <bdi className="line-clamp-2 text-soft text-xs">
            <Keys>{note}</Keys>
          </bdi>
        )}
      </p>
    </li>
  )
}
