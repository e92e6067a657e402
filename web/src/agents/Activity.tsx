import { money } from '../app/format'
import { leads, useMe } from '../app/queries'
import { StandingMark } from '../sessions/Bits'
import { useStop } from '../sessions/Stop'
import { agents as agentTexts } from '../texts/agents'
import { Age } from '../ui/Age'
import { Button } from '../ui/Button'
import { State } from '../ui/State'
import { sessionHref, TextLink } from '../ui/TextLink'
import type { AgentDetails } from './agent'
import { RunName } from './RunName'

const words = agentTexts.page

/** The reason for the agent's status, and when it was last checked. */
export function Evidence({ page }: { page: AgentDetails }) {
  const p = page.presence
  const knows = page.in_runtime === null ? words.knows.unknown : page.in_runtime ? words.knows.yes : words.knows.no
  return (
    <dl className="grid grid-cols-[7rem_1fr] gap-x-3 gap-y-1">
      <dt className="text-soft">{words.because}</dt>
      <dd className="wrap-anywhere">
        <bdi>{p?.reason ?? agentTexts.unseenWhy}</bdi> {knows}
      </dd>
      {p && (
        <>
          <dt className="text-soft">{words.since}</dt>
          <dd>{p.since ? <Ago at={p.since} /> : <span className="text-soft">{words.sinceUnknown}</span>}</dd>
          {p.silent_since && (
            <>
              <dt className="text-soft">{words.silent}</dt>
              <dd className="text-attention">
                <Ago at={p.silent_since} />
              </dd>
            </>
          )}
          <dt className="text-soft">{words.asOf}</dt>
          <dd>
            <Ago at={p.as_of} />
          </dd>
        </>
      )}
    </dl>
  )
}

const Ago = ({ at }: { at: string }) => (
  <>
    <Age at={at} /> {words.ago}
  </>
)

/** The active runs, longest first, each with a stop button. */
export function Now({ page }: { page: AgentDetails }) {
  const me = useMe().data
  const [askStop, question] = useStop()
  if (page.runs === null) return <p className="text-soft">{words.runsUnknown}</p>
  return (
    <>
      {page.runs.length === 0 && <p className="text-soft">{words.noRun}</p>}
      <ul className="flex flex-col empty:hidden">
        {page.runs.map(run => (
          <li
            key={`${run.session_key} ${run.run_id}`}
            className="flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1 border-line border-b py-1 last:border-b-0"
          >
            <TextLink
              className="wrap-anywhere min-w-0 text-accent hover:underline"
              href={sessionHref(run.session_key)}
              title={run.session_key}
            >
              <RunName of={run.session_key} page={page} />
            </TextLink>
            {run.since ? (
              <span className="text-soft">
                {words.runningFor} <Age at={run.since} />
              </span>
            ) : (
              <span className="text-soft">{words.noStart}</span>
            )}
            {run.stalled && run.silent_since && (
              <State tone="attention">
                {words.silentFor} <Age at={run.silent_since} />
              </State>
            )}
            {leads(me) && (
              <Button
                aria-label={words.stopLabel(run.session_key)}
                className="ml-auto"
                look="danger"
                onClick={() =>
                  askStop({
                    key: run.session_key,
                    label: page.sessions?.find(s => s.key === run.session_key)?.label ?? null,
                    agent_id: page.agent_id,
                  })
                }
              >
                {words.stop}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {question}
    </>
  )
}

/** The latest sessions in the runtime, active ones first. */
export function Sessions({ page }: { page: AgentDetails }) {
  if (page.sessions === null) return <p className="text-soft">{words.runsUnknown}</p>
  if (page.sessions.length === 0) return <p className="text-soft">{words.noSessions}</p>
  return (
    <ul>
      {page.sessions.map(s => (
        <li key={s.key} className="border-line border-b py-1.5 last:border-b-0">
          <p className="flex flex-wrap items-center gap-x-3">
            <TextLink
              className="wrap-anywhere min-w-0 text-accent hover:underline"
              href={sessionHref(s.key)}
              title={s.key}
            >
              <RunName of={s.key} page={page} />
            </TextLink>
            <StandingMark of={s} />
            {s.updated_at && <Age at={s.updated_at} className="text-soft text-xs" />}
            <span className="ml-auto text-soft text-xs">{money(s.cost_usd)}</span>
          </p>
          {s.last_message && (
            <p className="truncate text-soft">
              <bdi>{s.last_message}</bdi>
            </p>
          )}
        </li>
      ))}
    </ul>
  )
}
