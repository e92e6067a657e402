import { useInfiniteQuery } from '@tanstack/react-query'
import { span } from '../app/format'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Age } from '../ui/Age'
import { LoadMore } from '../ui/LoadMore'
import { Chip, State } from '../ui/State'
import { sessionHref, TextLink } from '../ui/TextLink'
import { Answer } from '../ui/Views'
import type { Job, Run } from './job'
import { runsQuery } from './queries'

const words = scheduleTexts

/** The finished runs of a job, newest first. */
export function Runs({ job }: { job: Job }) {
  const asked = useInfiniteQuery(runsQuery(job.id))
  return (
    <Answer of={asked} rows={4} what={words.tabsWhat.runs}>
      {data => {
        const runs = data.pages.flatMap(p => p.rows)
        if (runs.length === 0) return <p className="text-soft">{words.noRuns}</p>
        return (
          <>
            <ol>
              {runs.map(r => (
                <li key={`${r.run_id} ${r.started_at}`} className="border-line border-b py-1.5 last:border-b-0">
                  <Row run={r} />
                </li>
              ))}
            </ol>
            <LoadMore of={asked} />
          </>
        )
      }}
    </Answer>
  )
}

function Row({ run }: { run: Run }) {
  const tone = run.status === 'ok' ? 'active' : run.status === 'error' ? 'danger' : 'idle'
  const word = { ok: words.runs.ok, error: words.runs.error, skipped: words.runs.skipped }[run.status] ?? run.status
  const text = run.error || run.summary
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-3">
        <State icon={tone === 'active' ? 'check' : tone === 'danger' ? 'error' : 'sleep'} tone={tone}>
          <bdi>{word}</bdi>
        </State>
        <Age at={run.started_at} />
        <span className="text-soft text-xs">
          {words.took} {span(Date.parse(run.ended_at) - Date.parse(run.started_at))}
        </span>
        {run.manual && <Chip>{words.manual}</Chip>}
        {run.session_key && (
          <span className="ml-auto">
            <TextLink href={sessionHref(run.session_key)}>{words.readSession}</TextLink>
          </span>
        )}
      </p>
      {text && (
        <p className={`wrap-anywhere line-clamp-3 ${run.error ? 'text-danger' : 'text-soft'}`}>
          <bdi>{text}</bdi>
        </p>
      )}
    </>
  )
}
