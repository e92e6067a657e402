import { useInfiniteQuery } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { moment } from '../app/format'
import { inbox as inboxWords } from '../texts/inbox'
import { Age } from '../ui/Age'
import { LoadMore } from '../ui/LoadMore'
import { Answer } from '../ui/Views'
import { kindLabels } from './kinds'
import { historyQuery } from './queries'

const words = inboxWords

interface Change {
  field: string
  from: string
  to: string
}

/** Formats a value of a change. */
function say(field: string, v: unknown): string {
  if (v === null || v === undefined || v === '') return '–'
  if (typeof v === 'object') return 'name' in v && typeof v.name === 'string' ? v.name || '–' : JSON.stringify(v)
  const s = String(v)
  if (field === 'snoozed_until') return moment(s)
  const names: Record<string, string> =
    field === 'state' ? words.state : field === 'severity' ? words.severity : field === 'kind' ? kindLabels : {}
  return names[s] ?? s
}

/** Returns the changes of an event. Changed details show only as "updated". */
function changesOf(data: unknown): Change[] {
  if (typeof data !== 'object' || data === null || !('changes' in data)) return []
  return Object.entries(data.changes ?? {}).flatMap(([name, pair]) => {
    if (name === 'run') return [] // an ID, which the item links to
    if (name === 'detail') return [{ field: words.fields.detail ?? name, from: '', to: words.newDetail }]
    const [from, to] = Array.isArray(pair) ? pair : [null, pair]
    return [{ field: words.fields[name] ?? name, from: say(name, from), to: say(name, to) }]
  })
}

/** Returns the note of a resolution, which the changes don't include. */
function noteOf(event: Schemas['Event']): string {
  const data = event.data as { item?: { resolution?: { note?: unknown } | null } } | null
  const note = event.kind === 'inbox.resolved' ? data?.item?.resolution?.note : ''
  return typeof note === 'string' ? note : ''
}

/** The history of an item, newest first. */
export function History({ id }: { id: string }) {
  const asked = useInfiniteQuery(historyQuery(id))
  return (
    <section aria-label={words.history}>
      <h3 className="mb-2 font-medium text-soft text-xs">{words.history}</h3>
      <Answer of={asked} rows={3} what={words.history.toLowerCase()}>
        {({ pages }) =>
          pages[0]?.rows.length === 0 ? (
            <p className="text-soft">{words.noHistory}</p>
          ) : (
            <ol className="flex flex-col gap-2">
              {pages
                .flatMap(p => p.rows)
                .map(e => (
                  <li key={e.id} className="grid grid-cols-[4.5rem_1fr] gap-2">
                    <Age at={e.at} className="text-soft text-xs" />
                    <div className="wrap-anywhere min-w-0">
                      <bdi className="font-medium">{e.actor.name}</bdi> {words.historyKind[e.kind] ?? e.kind}
                      {noteOf(e) && (
                        <p>
                          <bdi>{noteOf(e)}</bdi>
                        </p>
                      )}
                      {changesOf(e.data).map(c => (
                        <p key={c.field} className="text-soft">
                          {c.field} {c.from !== '' && <bdi>{c.from}</bdi>}
                          {c.from !== '' && ' → '}
                          <bdi className="text-ink">{c.to}</bdi>
                        </p>
                      ))}
                    </div>
                  </li>
                ))}
            </ol>
          )
        }
      </Answer>
      <LoadMore of={asked} />
    </section>
  )
}
