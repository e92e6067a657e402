import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Schemas } from '../api/client'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { Face } from '../ui/Face'
import { LoadMore } from '../ui/LoadMore'
import { Markdown } from '../ui/Markdown'
import { type Look, State } from '../ui/State'
import { Answer } from '../ui/Views'
import { agentName } from './dispatch'
import { reportsQuery } from './queries'
import { type Report, type ReportKind, reportOf } from './report'
import type { Task } from './task'

const words = texts.tasks

const looks: Record<ReportKind, Look> = {
  ack: { tone: 'active', icon: 'pulse' },
  progress: { tone: 'idle', icon: 'comment' },
  blocker: { tone: 'danger', icon: 'blocked' },
  done: { tone: 'done', icon: 'check' },
  answer: { tone: 'idle', icon: 'agents' },
}

/** The reports on a task, and the agents' final answers, newest first. */
export function Reports({ task, people }: { task: Task; people: ReadonlyMap<string, Person> }) {
  const asked = useInfiniteQuery(reportsQuery(task.id))
  const events = useMemo(() => asked.data?.pages.flatMap(p => p.rows) ?? [], [asked.data])
  return (
    <Answer of={asked} rows={3} what={words.reportsWhat}>
      {() => (
        <>
          <List events={events} people={people} />
          <LoadMore of={asked} />
        </>
      )}
    </Answer>
  )
}

function List({ events, people }: { events: readonly Schemas['Event'][]; people: ReadonlyMap<string, Person> }) {
  const reports = events.flatMap(e => reportOf(e) ?? [])
  if (reports.length === 0) return <p className="text-soft">{words.noReports}</p>
  return (
    <ol className="flex flex-col gap-3">
      {reports.map(r => (
        <li key={r.id}>
          <ReportText people={people} report={r} />
        </li>
      ))}
    </ol>
  )
}

/** A report: its kind, its author, and its text. */
export function ReportText({ report: r, people }: { report: Report; people: ReadonlyMap<string, Person> }) {
  return (
    <>
      <p className="mb-0.5 flex flex-wrap items-center gap-x-1.5 text-soft text-xs">
        <State {...looks[r.kind]}>{words.reportKind[r.kind]}</State>·{' '}
        {r.agent && <Face agent={r.agent} name={agentName(r.agent, people)} />}
        <bdi className="font-medium text-ink">{r.agent ? agentName(r.agent, people) : r.author}</bdi> ·{' '}
        <Age at={r.at} />
      </p>
      {r.text && <Markdown text={r.text} />}
    </>
  )
}
