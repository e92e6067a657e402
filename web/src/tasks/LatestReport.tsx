import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { Face } from '../ui/Face'
import { Markdown } from '../ui/Markdown'
import { type Look, State } from '../ui/State'
import { agentName } from './dispatch'
import { commentsQuery, reportsQuery } from './queries'
import { cutReport, latestWords, type ReportKind, type Said } from './report'
import type { Task } from './task'

const words = texts.tasks
type People = ReadonlyMap<string, Person>

/** Returns the latest words about a task of its agent, or of any agent if it is not assigned to one. */
export function useLatest(task: Task, people: People): Said | null {
  const pages = useInfiniteQuery(reportsQuery(task.id)).data?.pages
  const comments = useQuery(commentsQuery(task.id)).data
  const holder = task.assignee_id
  return useMemo(() => {
    const isAgent = (id: string | null) => Boolean(people.get(id ?? '')?.agent)
    const isIts = isAgent(holder) ? (id: string | null) => id === holder : isAgent
    return latestWords(pages?.flatMap(p => p.rows) ?? [], comments ?? [], isIts)
  }, [pages, comments, people, holder])
}

/** The latest report, answer, or comment of a task's agent. Nothing if there is none. */
export function LatestReport({ task, people }: { task: Task; people: People }) {
  const said = useLatest(task, people)
  const [whole, setWhole] = useState('')
  if (said === null) return null
  const cut = whole === said.id ? null : cutReport(said.text)
  return (
    <section aria-label={words.latest}>
      <p className="mb-1 text-soft text-xs">{words.latest}</p>
      <SaidText people={people} said={cut === null ? said : { ...said, text: cut }} />
      {cut !== null && (
        <Button className="mt-1" look="quiet" onClick={() => setWhole(said.id)}>
          {words.showAll}
        </Button>
      )}
    </section>
  )
}

const looks: Record<ReportKind, Look> = {
  ack: { tone: 'active', icon: 'pulse' },
  progress: { tone: 'idle', icon: 'pulse' },
  blocker: { tone: 'danger', icon: 'blocked' },
  done: { tone: 'done', icon: 'check' },
  answer: { tone: 'idle', icon: 'agents' },
}

/** A comment or report: who said it, when, and its text. */
export function SaidText({ said: s, people }: { said: Said; people: People }) {
  const name = s.agent ? agentName(s.agent, people) : s.name
  return (
    <>
      <p className="mb-0.5 flex flex-wrap items-center gap-x-1.5 text-soft text-xs">
        <Face agent={s.agent ?? people.get(s.author ?? '')?.agent ?? null} name={name} />
        <bdi className="font-medium text-ink">{name}</bdi>
        {s.kind !== 'comment' && <State {...looks[s.kind]}>{words.reportKind[s.kind]}</State>}
        <span>
          · <Age at={s.at} say="ago" />
          {s.edited && ` · ${words.edited}`}
        </span>
      </p>
      <div className="pl-6.5">
        <Markdown text={s.text} />
      </div>
    </>
  )
}
