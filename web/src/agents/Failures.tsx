import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useMemo, useRef } from 'react'
import { useSessionNames } from '../sessions/useSessionNames'
import { agents as agentTexts } from '../texts/agents'
import { Age } from '../ui/Age'
import { plainText } from '../ui/plainText'
import { State } from '../ui/State'
import { sessionHref, standupHref, TextLink } from '../ui/TextLink'
import { type AgentDetails, repeated } from './agent'

const words = agentTexts.page

type Failure = AgentDetails['failures'][number]

/** How many runs succeeded, and the failures, each with a link to where to deal with it and to its run. */
export function Failures({ page }: { page: AgentDetails }) {
  const box = useRef<HTMLDivElement>(null)
  // The router looks for the anchor before the agent is loaded.
  useEffect(() => {
    if (location.hash === '#failures') box.current?.scrollIntoView({ block: 'center' })
  }, [])
  const { succeeded, failed } = page.runs_last_7_days
  const all = succeeded + failed
  return (
    <div ref={box} id="failures">
      <p>{all > 0 ? agentTexts.succeeded(succeeded, all) : <span className="text-soft">{agentTexts.noRuns}</span>}</p>
      <ol className="mt-1 divide-y divide-line empty:hidden">
        {repeated(page.failures).map(({ failure: f, times }) => (
          <li key={`${f.kind} ${f.what}`} className="py-2">
            <p className="flex flex-wrap items-center gap-x-2">
              <State icon={f.kind === 'job_missed' || f.kind === 'standup' ? 'clock' : 'error'} tone="danger">
                {words.failure[f.kind]}
              </State>
              <Where failure={f} page={page} />
              {times > 1 && <span className="text-soft text-xs">{words.times(times)}</span>}
              <Age at={f.at} className="ml-auto text-soft text-xs" say="ago" />
            </p>
            {(f.detail || f.session_key) && (
              <p className="wrap-anywhere text-soft">
                <bdi>{plainText(f.detail)}</bdi>{' '}
                {f.session_key && f.kind !== 'session' && (
                  <TextLink className="text-accent underline" href={sessionHref(f.session_key)}>
                    {agentTexts.openRun}
                  </TextLink>
                )}
              </p>
            )}
          </li>
        ))}
      </ol>
    </div>
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
      return <SessionLink of={f.what} />
  }
}

function SessionLink({ of: key }: { of: string }) {
  const { name } = useSessionNames(useMemo(() => [key], [key]))(key)
  return (
    <TextLink className={look} href={sessionHref(key)} title={key}>
      <bdi>{name}</bdi>
    </TextLink>
  )
}
