import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Age } from '../ui/Age'
import { State } from '../ui/State'
import { isFailing, type Job, sorted } from './job'
import { dayQuery } from './queries'
import type { Go, JobSearch } from './search'

const words = scheduleTexts.counts

/** The number of jobs and problems, and the next run. */
export function Counts({ jobs, show, go }: { jobs: readonly Job[]; show: JobSearch['show']; go: Go }) {
  const day = useQuery(dayQuery)
  const failing = jobs.filter(isFailing).length
  const missed = day.data?.slots.filter(s => s.state === 'missed').length
  const next = sorted(jobs)[0]
  const at = next?.next_runs[0]?.at
  return (
    <section
      aria-label={words.label}
      className="flex shrink-0 flex-wrap items-center gap-x-5 gap-y-1 border-line border-b px-3 py-2"
    >
      <span className="font-medium">{words.jobs(jobs.length, jobs.filter(j => j.enabled).length)}</span>
      <Toggle go={go} on={failing > 0} show={show} to="failing">
        <State icon={failing > 0 ? 'error' : 'check'} tone={failing > 0 ? 'danger' : 'active'}>
          {words.failing(failing)}
        </State>
      </Toggle>
      {missed === undefined ? (
        day.error && <State tone="attention">{words.missedUnknown}</State>
      ) : (
        <Toggle go={go} on={missed > 0} show={show} to="missed">
          <State icon={missed > 0 ? 'close' : 'check'} tone={missed > 0 || day.data?.more ? 'danger' : 'active'}>
            {words.missed(missed, day.data?.more ?? false)}
          </State>
        </Toggle>
      )}
      {next && at ? (
        <span className="flex min-w-0 items-center gap-1.5 text-soft">
          {words.next}
          <button
            className="min-h-6 min-w-0 truncate text-ink hover:underline"
            onClick={() => go({ job: next.id, form: undefined })}
            type="button"
          >
            <bdi>{next.name}</bdi>
          </button>
          <Age at={at} />
        </span>
      ) : (
        <span className="text-soft">{words.noNext}</span>
      )}
    </section>
  )
}

interface ToggleProps {
  /** Whether there is anything to show. */
  on: boolean
  to: 'failing' | 'missed'
  show: JobSearch['show']
  go: Go
  children: ReactNode
}

/** A count that shows only the jobs which it counts. */
function Toggle({ on, to, show, go, children }: ToggleProps) {
  if (!on) return children
  return (
    <button
      aria-pressed={show === to}
      className="min-h-6 rounded-sm hover:underline"
      onClick={() => go({ show: show === to ? undefined : to })}
      type="button"
    >
      {children}
    </button>
  )
}
