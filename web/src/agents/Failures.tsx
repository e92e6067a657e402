import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { agents as agentTexts } from '../texts/agents'
import { Age } from '../ui/Age'
import { State } from '../ui/State'
import { sessionHref, standupHref, TextLink } from '../ui/TextLink'
import type { AgentDetails } from './agent'
import { RunName } from './RunName'

const words = agentTexts.page

type Failure = AgentDetails['failures'][number]

/** The recent failures, each with a link to where to deal with it. */
export function Failures({ page }: { page: AgentDetails }) {
  const of = page.failures
  if (of.length === 0) return <p className="text-soft">{words.noFailures}</p>
  return (
    <ol>
      {of.map(f => (
        <li key={`${f.at} ${f.kind} ${f.what}`} className="border-line border-b py-1.5 last:border-b-0">
          <p className="flex flex-wrap items-center gap-x-2">
            <State icon={f.kind === 'job_missed' || f.kind === 'standup' ? 'clock' : 'error'} tone="danger">
              {words.failure[f.kind]}
            </State>
            <Where failure={f} page={page} />
            <Age at={f.at} className="ml-auto text-soft text-xs" />
          </p>
          {f.detail && (
            <p className="wrap-anywhere text-soft">
              <bdi>{f.detail}</bdi>
            </p>
          )}
        </li>
      ))}
    </ol>
  )
}

const look = 'wrap-anywhere min-w-0 text-accent hover:underline'

function Where({ failure: f, page }: { failure: Failure; page: AgentDetails }): ReactNode {
  const name = <bdi>{f.what}</bdi>
  switch (f.kind) {
    case 'dispatch':
      return (
        <Link className={`key ${look}`} search={{ task: f.what }} to="/tasks">
          {name}
        </Link>
      )
    case 'standup': {
      const held = page.standups.find(s => s.date === f.what)
      return (
        <TextLink className={look} href={held ? standupHref(held.standup_id) : '/standups'}>
          {name}
        </TextLink>
      )
    }
    case 'job_missed':
    case 'job_failed':
      return (
        <Link className={look} search={{ q: f.what }} to="/schedules">
          {name}
        </Link>
      )
    case 'session':
      return (
        <TextLink className={look} href={sessionHref(f.what)} title={f.what}>
          <RunName of={f.what} page={page} />
        </TextLink>
      )
  }
}
