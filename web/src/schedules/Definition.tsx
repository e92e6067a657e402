import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { shortIn, span } from '../app/format'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Cost, NextRun } from './JobTable'
import { type Job, timesText, zoneText } from './job'
import { AgentName } from './Small'

const words = scheduleTexts
const f = words.fields

/** The definition of a job: when it runs, who runs it, what that costs, and the message. */
export function Definition({ job }: { job: Job }) {
  const s = job.schedule
  return (
    <section aria-label={words.definition} className="flex flex-col gap-2">
      <dl className="grid grid-cols-[8rem_1fr] gap-x-3 gap-y-1.5">
        <Fact label={f.times}>
          {timesText(s)}
          <bdi className="text-soft"> {zoneText(s)}</bdi>
          {s.kind === 'cron' && s.expr !== timesText(s) && <span className="key text-soft"> {s.expr}</span>}
          {job.conditional && <span className="block text-soft">{words.conditional}</span>}
        </Fact>
        <Fact label={f.next}>
          <NextRun of={job} />
          <span className="flex flex-wrap gap-x-3 whitespace-nowrap text-soft text-xs tabular-nums">
            {job.next_runs.slice(1, 5).map(n => (
              <span key={n.at}>{shortIn(n.at)}</span>
            ))}
          </span>
        </Fact>
        <Fact label={f.agent}>
          <Link className="text-accent hover:underline" params={{ agentId: job.agentId }} to="/agents/$agentId">
            <AgentName id={job.agentId} />
          </Link>
        </Fact>
        <Fact label={f.cost}>
          <Cost of={job} />
        </Fact>
        {job.task && (
          <Fact label={f.task}>
            <bdi>{job.task.title}</bdi>
          </Fact>
        )}
        {(job.delivery.mode || 'none') !== 'none' && (
          <Fact label={f.delivery}>{words.delivery[job.delivery.mode] ?? <bdi>{job.delivery.mode}</bdi>}</Fact>
        )}
        <Fact label={f.watched}>
          {job.watched ? (
            words.watched(span(job.grace_seconds * 1000))
          ) : (
            <span className="text-attention">
              {words.unwatched} {job.unwatched_because}
            </span>
          )}
        </Fact>
      </dl>
      <h3 className="font-medium text-soft text-xs">{f.message}</h3>
      {job.payload.message ? (
        <pre
          className="hairline wrap-anywhere max-h-40 overflow-y-auto whitespace-pre-wrap rounded-md bg-panel px-3 py-2 font-sans"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable
          tabIndex={0}
        >
          <bdi>{job.payload.message}</bdi>
        </pre>
      ) : (
        <p className="text-soft">{words.noMessage}</p>
      )}
    </section>
  )
}

const Fact = ({ label, children }: { label: string; children: ReactNode }) => (
  <>
    <dt className="text-soft">{label}</dt>
    <dd className="wrap-anywhere min-w-0">{children}</dd>
  </>
)
