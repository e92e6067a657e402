import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { reportsQuery } from './queries'
import { ReportText } from './Reports'
import { cutReport, latestReport } from './report'
import type { Task } from './task'

const words = texts.tasks

/** The latest words of the task's agent: its report or its answer. Nothing if it has said nothing. */
export function LatestReport({ task, people }: { task: Task; people: ReadonlyMap<string, Person> }) {
  const pages = useInfiniteQuery(reportsQuery(task.id)).data?.pages
  const report = useMemo(() => latestReport(pages?.flatMap(p => p.rows) ?? []), [pages])
  const [whole, setWhole] = useState(false)
  if (!report) return null
  const cut = whole ? null : cutReport(report.text)
  return (
    <section aria-label={words.latest}>
      <ReportText people={people} report={cut === null ? report : { ...report, text: cut }} />
      {cut !== null && (
        <Button className="mt-1" look="quiet" onClick={() => setWhole(true)}>
          {words.showAll}
        </Button>
      )}
    </section>
  )
}
