import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Schemas } from '../api/client'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { LoadMore } from '../ui/LoadMore'
import { Answer } from '../ui/Views'
import { deedOf, folded, type Line, linesOf, type Names, parentsIn } from './historyText'
import { historyQuery, oneQuery, projectsQuery } from './queries'
import type { Task } from './task'

const words = texts.tasks

/** The history of a task, newest first. */
export function History({ task, people }: { task: Task; people: ReadonlyMap<string, Person> }) {
  const asked = useInfiniteQuery(historyQuery(task.id))
  const events = useMemo(() => asked.data?.pages.flatMap(p => p.rows) ?? [], [asked.data])
  return (
    <Answer of={asked} rows={4} what={words.historyWhat}>
      {() => (
        <>
          <Events events={events} people={people} />
          <LoadMore of={asked} />
        </>
      )}
    </Answer>
  )
}

function Events({ events, people }: { events: readonly Schemas['Event'][]; people: ReadonlyMap<string, Person> }) {
  const rows = useMemo(() => folded(events), [events])
  const projects = useQuery(projectsQuery).data
  const parents = useQueries({ queries: useMemo(() => parentsIn(events), [events]).map(id => oneQuery(id)) })
  const things = new Map([
    ...(projects ?? []).map(p => [p.id, p.name] as const),
    ...parents.flatMap(p => (p.data ? [[p.data.id, p.data.key] as const] : [])),
  ])
  const names: Names = { people, things }
  return (
    <ol className="flex flex-col gap-2">
      {rows.map(({ event, times }) => (
        <li key={event.id} className="grid grid-cols-[4.5rem_1fr] gap-2">
          <Age at={event.at} className="text-soft text-xs" />
          <div className="wrap-anywhere min-w-0">
            <bdi className="font-medium">{event.actor.name}</bdi> {deedOf(event, times)}
            {linesOf(event, names).map((line, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: events don't change
              <LineOf key={i} line={line} />
            ))}
          </div>
        </li>
      ))}
    </ol>
  )
}

function LineOf({ line }: { line: Line }) {
  if ('text' in line) {
    return (
      <p className="text-soft">
        <bdi className="line-clamp-3">{line.text}</bdi>
      </p>
    )
  }
  return (
    <p className="text-soft">
      {line.field}: <bdi className="line-clamp-2 inline">{line.from}</bdi> →{' '}
      <bdi className="line-clamp-2 inline text-ink">{line.to}</bdi>
    </p>
  )
}
