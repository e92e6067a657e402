import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { span } from '../app/format'
import { agents as agentTexts } from '../texts/agents'
import { schedules as scheduleTexts } from '../texts/schedules'
import { Age } from '../ui/Age'
import { type Job, timesText } from './job'

import { AgentName } from './Small'

const words = scheduleTexts
const f = words.fields

/** The definition of a job: schedule, agent, and message. */
export function Definition({ job }: { job: Job }) {
  const s = job.schedule
  return (
    <section aria-label={words.definition} className="flex flex-col gap-2">
      <dl className="grid grid-cols-[8rem_1fr] gap-x-3 gap-y-1">
        <Fact label={f.times}>
          {timesText(s)}
          {s.kind === 'cron' && s.expr && s.expr !== timesText(s) && <span className="key text-soft"> {s.expr}</span>}
        </Fact>
        {s.kind === 'cron' && <Fact label={f.zone}>{s.tz ? <bdi>{s.tz}</bdi> : words.hostZone}</Fact>}
        <Fact label={f.agent}>
          <Link className="text-accent hover:underline" params={{ agentId: job.agentId }} to="/agents/$agentId">
            <AgentName id={job.agentId} />
          </Link>
        </Fact>
        <Fact label={f.kind}>
          {words.kinds[s.kind] ?? <bdi>{s.kind}</bdi>}
          {job.conditional && `. ${words.conditional}`}
        </Fact>
        <Fact label={f.delivery}>{words.delivery[job.delivery.mode || 'none'] ?? <bdi>{job.delivery.mode}</bdi>}</Fact>
        <Fact label={f.session}>
          <bdi className="key">{job.sessionTarget}</bdi>
        </Fact>
        <Fact label={f.grace}>{span(job.grace_seconds * 1000)}</Fact>
        <Fact label={f.made}>
          <Age at={job.createdAt} /> {agentTexts.page.ago}
        </Fact>
      </dl>
      <h3 className="font-medium text-soft text-xs">{f.message}</h3>
      {job.payload.message ? (
        <pre
          className="hairline wrap-anywhere max-h-60 overflow-y-auto whitespace-pre-wrap rounded-md bg-panel px-3 py-2 font-sans"
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
