import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTicking } from '../app/clock'
import { queries, useMe } from '../app/queries'
import { states } from '../inbox/item'
import { kindTable } from '../inbox/kinds'
import { texts } from '../texts'
import { inbox as inboxWords } from '../texts/inbox'
import { now as nowWords } from '../texts/now'
import { Age } from '../ui/Age'
import { Icon, type IconName } from '../ui/Icon'
import { State } from '../ui/State'
import { Answer, NotAllowed, Partial } from '../ui/Views'
import { Card, Nothing } from './Card'
import { type Failure, failedRuns, failuresOf } from './failures'
import { failedRunsQuery, failuresQuery } from './queries'

const words = nowWords.failures

/** The failures of the last 24 hours, by cause. */
export function Failures({ className }: { className: string }) {
  const agent = useMe().data?.role === 'agent'
  const asked = useQuery({ ...failuresQuery, enabled: !agent })
  const runs = useQuery({ ...failedRunsQuery, enabled: !agent })
  return (
    <Card className={className} title={words.title} to={{ path: '/inbox', label: texts.app.places.inbox }}>
      {agent ? (
        // The server answers agents without these events instead of refusing, so an empty list would be misleading.
        <NotAllowed detail={words.notAllowed} />
      ) : (
        <Answer of={asked} rows={2} what={words.what}>
          {data => (
            <>
              {(data.cut || runs.data?.cut) && <Partial>{words.cut}</Partial>}
              {runs.error && !runs.data ? <Partial>{words.noRuns}</Partial> : null}
              <List events={data.events} sessions={runs.data?.sessions} />
            </>
          )}
        </Answer>
      )}
    </Card>
  )
}

interface ListProps {
  events: Parameters<typeof failuresOf>[0]
  /** Undefined while the failed runs are unknown. */
  sessions: Parameters<typeof failedRuns>[0] | undefined
}

function List({ events, sessions }: ListProps) {
  // Updates every minute, as failures become older than a day.
  const now = useTicking(at => Math.floor(at / 60_000) * 60_000)
  const agents = useQuery(queries.agents).data
  const failures = failuresOf(events, now)
  const runs = failedRuns(sessions ?? [], now)
  if (failures.length + runs.length === 0) return sessions ? <Nothing title={words.none} /> : null
  return (
    <ul>
      {failures.map(f => (
        <Row key={f.item} count={f.count} last={f.last}>
          <Link className={link} search={searchOf(f)} title={f.title} to="/inbox">
            <Cause icon={kindTable[f.kind].icon} over={f.resolved}>
              {f.title || kindTable[f.kind].label}
            </Cause>
          </Link>
          {f.resolved && (
            <State icon="checks" tone="done">
              {words.resolved}
            </State>
          )}
        </Row>
      ))}
      {runs.map(f => (
        <Row key={`${f.status} ${f.agent}`} count={f.count} last={f.last}>
          <Link className={link} search={{ show: 'history', status: f.status, agent: f.agent }} to="/sessions">
            <Cause icon={f.status === 'timeout' ? 'clock' : 'error'}>
              {words.runs[f.status](agents?.find(a => a.agent_id === f.agent)?.name ?? f.agent)}
            </Cause>
          </Link>
        </Row>
      ))}
    </ul>
  )
}

const link = 'flex min-w-0 hover:underline'

/**
 * The cause of a failure, red unless it is resolved. Wraps to two lines in narrow cards, because the end of a title tells
 * "failed" from "missed".
 */
const Cause = ({ icon, over = false, children }: { icon: IconName; over?: boolean; children: string }) => (
  <span className={`flex min-w-0 items-start gap-1 ${over ? 'text-soft' : 'text-danger'}`}>
    <Icon className="mt-[3px] size-3.5 shrink-0" name={icon} />
    <bdi className="wrap-anywhere line-clamp-2">{children}</bdi>
  </span>
)

const Row = ({ count, last, children }: { count: number; last: string; children: ReactNode }) => (
  <li className="flex min-h-8 items-center gap-3 border-line border-b px-3 py-1 last:border-b-0">
    {children}
    <span className="ml-auto shrink-0">{words.count(count)}</span>
    <span className="shrink-0 text-soft text-xs">
      {words.last} <Age at={last} /> {inboxWords.ago}
    </span>
  </li>
)

/** Search parameters for all items of the kind in any state, with the latest one open. */
const searchOf = (f: Failure) => ({ kind: f.kind, state: states.join(), order: '-last' as const, item: f.item })
