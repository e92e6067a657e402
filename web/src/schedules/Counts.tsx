import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { schedules as scheduleTexts } from '../texts/schedules'
import { State } from '../ui/State'
import { isFailing, type Job, openMisses } from './job'
import { dayQuery } from './queries'
import type { Go, JobSearch } from './search'

const words = scheduleTexts.counts

/** The number of jobs and problems. Each count shows the jobs that it counts. */
export function Counts({ jobs, show, go }: { jobs: readonly Job[]; show: JobSearch['show']; go: Go }) {
  const day = useQuery(dayQuery)
  const failing = jobs.filter(isFailing).length
  const off = jobs.filter(j => !j.enabled).length
  const missed = day.data && openMisses(day.data.slots, jobs).length
  const link = (to: JobSearch['show'], on: boolean, count: ReactNode) =>
    on ? (
      <button
        aria-pressed={show === to}
        className={`inline-flex h-8 items-center rounded-md border px-2 pointer-coarse:h-10 ${show === to ? 'border-accent bg-accent-tint' : 'border-line hover:bg-hover'}`}
        onClick={() => go({ show: show === to ? undefined : to })}
        type="button"
      >
        {count}
      </button>
    ) : (
      <span className="px-2">{count}</span>
    )
  return (
    <section aria-label={words.label} className="mr-auto flex flex-wrap items-center gap-1">
      {link(undefined, true, <span className="font-medium">{words.jobs(jobs.length)}</span>)}
      {link(
        'failing',
        failing > 0,
        <State icon={failing > 0 ? 'error' : 'check'} tone={failing > 0 ? 'danger' : 'done'}>
          {words.failing(failing)}
        </State>,
      )}
      {missed === undefined
        ? day.error && <State tone="attention">{words.missedUnknown}</State>
        : link(
            'missed',
            missed > 0,
            <State icon={missed > 0 ? 'close' : 'check'} tone={missed > 0 || day.data?.more ? 'danger' : 'done'}>
              <span>
                {words.missed(missed, day.data?.more ?? false)}
                <span className="max-sm:sr-only">{words.inDay}</span>
              </span>
            </State>,
          )}
      {off > 0 && link('disabled', true, <span className="text-soft">{words.off(off)}</span>)}
    </section>
  )
}
