import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { Said } from './Comments'
import { commentsQuery, reportsQuery } from './queries'
import { ReportText } from './Reports'
import { cutReport, latestReport } from './report'
import type { Task } from './task'

const words = texts.tasks

interface Props {
  task: Task
  people: ReadonlyMap<string, Person>
  /** Whether to show the last comment if it is newer, where the comments are not on the same screen. */
  comments?: boolean
}

/** The latest words about a task: its agent's report or answer. Nothing if there are none. */
export function LatestReport({ task, people, comments = false }: Props) {
  const pages = useInfiniteQuery(reportsQuery(task.id)).data?.pages
  const report = useMemo(() => latestReport(pages?.flatMap(p => p.rows) ?? []), [pages])
  const comment = useQuery({ ...commentsQuery(task.id), enabled: comments }).data?.at(-1)
  const [whole, setWhole] = useState(false)
  const said = comments && comment && (!report || comment.created_at > report.at) ? comment : null
  const text = said ? said.body : report?.text
  if (text === undefined) return null
  const cut = whole ? null : cutReport(text)
  return (
    <section aria-label={words.latest}>
      {said ? (
        <Said comment={cut === null ? said : { ...said, body: cut }} />
      ) : (
        report && <ReportText people={people} report={cut === null ? report : { ...report, text: cut }} />
      )}
      {cut !== null && (
        <Button className="mt-1" look="quiet" onClick={() => setWhole(true)}>
          {words.showAll}
        </Button>
      )}
    </section>
  )
}
