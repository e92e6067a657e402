import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query'
import { useId, useMemo, useState } from 'react'
import type { Schemas } from '../api/client'
import { useZone } from '../app/config'
import type { Person } from '../app/queries'
import { costOf, EndMark, StandingMark } from '../sessions/Bits'
import { type Archived, nameOf, type Session, standing } from '../sessions/session'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { Face } from '../ui/Face'
import { Icon } from '../ui/Icon'
import { LoadMore } from '../ui/LoadMore'
import { sessionHref, TextLink } from '../ui/TextLink'
import { Answer, Partial } from '../ui/Views'
import { activityOf, type Entry } from './activity'
import { agentName } from './dispatch'
import { deedOf, type Line, linesOf, type Names, parentsIn } from './historyText'
import { SaidText, useLatest } from './LatestReport'
import { commentsQuery, historyQuery, oneQuery, projectsQuery } from './queries'
import type { Task } from './task'
import { useRun, useTaskSessions } from './taskSessions'

const words = texts.tasks

type People = ReadonlyMap<string, Person>

/** Number of entries to show at once. */
const atOnce = 40

/** What was said about a task, its agents' sessions, and its changes, newest first. */
export function Activity({ task, people }: { task: Task; people: People }) {
  const history = useInfiniteQuery(historyQuery(task.id))
  const comments = useQuery(commentsQuery(task.id))
  const events = useMemo(() => history.data?.pages.flatMap(p => p.rows) ?? [], [history.data])
  const { sessions, isAway, isPartial } = useTaskSessions(task, people, events)
  const run = useRun(task).session?.key
  const latest = useLatest(task, people)
  const [shown, setShown] = useState(atOnce)
  const more = history.hasNextPage
  const names = useNames(events, people)
  const entries = activityOf({
    comments: comments.data ?? [],
    events,
    more,
    // The run in progress is shown above.
    sessions: sessions.filter(s => s.key !== run),
    latest,
  })
  const next = {
    hasNextPage: entries.length > shown || more,
    isFetchingNextPage: history.isFetchingNextPage,
    fetchNextPage: () => {
      setShown(n => n + atOnce)
      if (entries.length <= shown + atOnce && more) void history.fetchNextPage()
    },
  }
  return (
    <Answer<unknown> of={comments.isSuccess ? history : comments} rows={3} what={words.activityWhat}>
      {() => (
        <>
          {isPartial && <Partial>{words.sessionsPartly}</Partial>}
          {isAway && <p className="text-soft text-xs">{words.sessionsAway}</p>}
          <ol className="flex flex-col gap-3">
            {entries.slice(0, shown).map(entry => (
              <li key={entry.id}>
                <EntryOf entry={entry} names={names} />
              </li>
            ))}
          </ol>
          <LoadMore of={next} />
        </>
      )}
    </Answer>
  )
}

/** Returns the names of the people, projects, and tasks in events. */
function useNames(events: readonly Schemas['Event'][], people: People): Names {
  const projects = useQuery(projectsQuery).data
  const parents = useQueries({ queries: useMemo(() => parentsIn(events), [events]).map(id => oneQuery(id)) })
  const things = new Map([
    ...(projects ?? []).map(p => [p.id, p.name] as const),
    ...parents.flatMap(p => (p.data ? [[p.data.id, p.data.key] as const] : [])),
  ])
  return { people, things, zone: useZone() }
}

function EntryOf({ entry, names }: { entry: Entry; names: Names }) {
  if ('said' in entry) return <SaidText people={names.people} said={entry.said} />
  if ('session' in entry) return <SessionRow last={entry.last} of={entry.session} people={names.people} />
  const [only, ...others] = entry.changes
  if (only && others.length === 0) return <Change event={only} names={names} />
  return <Changes events={entry.changes} names={names} />
}

/** An agent's session: how it stands, what it cost, and the way to its transcript. */
function SessionRow({ of: s, last, people }: { of: Session | Archived; last: string | null; people: People }) {
  const isArchived = 'archived_at' in s
  const at = isArchived ? s.last_at : s.updated_at
  const name = agentName(s.agent_id, people)
  return (
    <p className="flex flex-wrap items-center gap-x-1.5 text-soft text-xs">
      <Face agent={s.agent_id} name={name} />
      <bdi className="font-medium text-ink">{name}</bdi>
      {standing(s) === 'rests' ? words.worked : isArchived ? <EndMark of={s} /> : <StandingMark of={s} />}
      <span>
        · {costOf(s)} ·{' '}
        <TextLink className="text-accent underline" href={sessionHref(isArchived ? s.id : s.key)} title={nameOf(s)}>
          {words.transcript}
        </TextLink>{' '}
        · {at && <Age at={at} say="ago" />}
      </span>
      {last && <bdi className="line-clamp-2 basis-full pl-6.5">{last}</bdi>}
    </p>
  )
}

interface ChangesProps {
  events: readonly Schemas['Event'][]
  names: Names
}

/** Changes in a row, folded. */
function Changes({ events, names }: ChangesProps) {
  const id = useId()
  const [open, setOpen] = useState(false)
  return (
    <>
      <button
        aria-controls={open ? id : undefined}
        aria-expanded={open}
        className="flex h-5 items-center gap-1.5 text-soft text-xs hover:text-ink pointer-coarse:h-8"
        onClick={() => setOpen(!open)}
        type="button"
      >
        <Icon className={`w-5 ${open ? '' : '-rotate-90'}`} name="chevron" />
        {words.changes(events.length)} · <Age at={events[0]?.at ?? ''} say="ago" />
      </button>
      {open && (
        <ol className="mt-2 flex flex-col gap-2" id={id}>
          {events.map(e => (
            <li key={e.id}>
              <Change event={e} names={names} />
            </li>
          ))}
        </ol>
      )}
    </>
  )
}

/** One change: who did what, and the changed values. */
function Change({ event, names }: { event: Schemas['Event']; names: Names }) {
  const lines = linesOf(event, names)
  // The lines of a plain change say it all.
  const deed = event.kind === 'task.changed' && lines.length > 0 ? '' : deedOf(event)
  return (
    <div className="wrap-anywhere pl-6.5 text-soft text-xs">
      <p>
        <bdi>{event.actor.name}</bdi> {deed} · <Age at={event.at} say="ago" />
      </p>
      {lines.map((line, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: events don't change
        <LineOf key={i} line={line} />
      ))}
    </div>
  )
}

function LineOf({ line }: { line: Line }) {
  if ('text' in line) {
    return (
      <p>
        <bdi className="line-clamp-3">{line.text}</bdi>
      </p>
    )
  }
  return (
    <p>
      {line.field}: <bdi className="line-clamp-2 inline">{line.from}</bdi> →{' '}
      <bdi className="line-clamp-2 inline text-ink">{line.to}</bdi>
    </p>
  )
}
