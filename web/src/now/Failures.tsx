import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTicking } from '../app/clock'
import { useMe } from '../app/queries'
import { kindIcon } from '../inbox/Bits'
import { states } from '../inbox/item'
import { texts } from '../texts'
import { inbox as inboxWords } from '../texts/inbox'
import { now as nowWords } from '../texts/now'
import { Age } from '../ui/Age'
import { State } from '../ui/State'
import { Answer, NotAllowed, Partial } from '../ui/Views'
import { Card, Nothing } from './Card'
import { type Failure, failuresOf } from './failures'
import { failuresQuery } from './queries'

const words = nowWords.failures

/** What failed within a day, by its cause. */
export function Failures({ className }: { className: string }) {
  const agent = useMe().data?.role === 'agent'
  const asked = useQuery({ ...failuresQuery, enabled: !agent })
  return (
    <Card className={className} title={words.title} to={{ path: '/inbox', label: texts.app.places.inbox }}>
      {agent ? (
        // The service leaves them out for agents instead of refusing: an empty list would be a lie.
        <NotAllowed detail={words.notAllowed} />
      ) : (
        <Answer of={asked} rows={2} what={words.what}>
          {data => (
            <>
              {data.cut && <Partial>{words.cut}</Partial>}
              <List events={data.events} />
            </>
          )}
        </Answer>
      )}
    </Card>
  )
}

function List({ events }: { events: Parameters<typeof failuresOf>[0] }) {
  // They grow old by the minute.
  const now = useTicking(at => Math.floor(at / 60_000) * 60_000)
  const failures = failuresOf(events, now)
  if (failures.length === 0) return <Nothing title={words.none} />
  return (
    <ul>
      {failures.map(f => (
        <li key={f.kind} className="flex h-8 items-center gap-3 border-line border-b px-3 last:border-b-0">
          <Link className="min-w-0 truncate hover:underline" search={searchOf(f)} to="/inbox">
            <State icon={kindIcon[f.kind]} tone="danger">
              {inboxWords.kind[f.kind]}
            </State>
          </Link>
          <span className="ml-auto shrink-0">{words.count(f.count)}</span>
          <span className="shrink-0 text-soft text-xs">
            {words.last} <Age at={f.last} /> {inboxWords.ago}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Where one sees all of a kind, whatever became of them, with the last one open. */
const searchOf = (f: Failure) => ({ kind: f.kind, state: states.join(), order: '-last' as const, item: f.item })
