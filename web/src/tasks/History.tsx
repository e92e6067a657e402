import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { Age } from '../ui/Age'
import { Answer } from '../ui/Views'
import { historyQuery } from './queries'
import type { Task } from './task'

const words = texts.tasks

type Change = { field: string; from: string; to: string }

/** A value of a change in words. */
function say(field: string, v: unknown, people: ReadonlyMap<string, Person>): string {
  if (v === null || v === undefined || v === '') return '–'
  if (field === 'status' && typeof v === 'string') return words.status[v as keyof typeof words.status] ?? v
  if (field === 'priority' && typeof v === 'string') return words.priority[v as keyof typeof words.priority] ?? v
  if (typeof v === 'string') return people.get(v)?.name ?? v
  if (typeof v === 'object' && 'reason' in v) return String(v.reason)
  return Array.isArray(v) ? v.join(', ') || '–' : JSON.stringify(v)
}

function changesOf(event: Schemas['Event'], people: ReadonlyMap<string, Person>): Change[] {
  const data: unknown = event.data
  if (
    typeof data !== 'object' ||
    data === null ||
    !('changes' in data) ||
    typeof data.changes !== 'object' ||
    data.changes === null
  )
    return []
  return Object.entries(data.changes).map(([name, pair]) => {
    const [from, to] = Array.isArray(pair) ? pair : [null, pair]
    const field = words.fields[name.replace(/_(id|at)$/, '') as keyof typeof words.fields] ?? name
    return { field, from: say(name, from, people), to: say(name, to, people) }
  })
}

/** Who did what to a task, the newest first. */
export function History({ task, people }: { task: Task; people: ReadonlyMap<string, Person> }) {
  const asked = useQuery(historyQuery(task.id))
  return (
    <Answer of={asked} rows={4} what={words.history}>
      {events => (
        <ol className="flex flex-col gap-2">
          {events.map(e => (
            <li key={e.id} className="grid grid-cols-[4.5rem_1fr] gap-2">
              <Age at={e.at} className="text-soft text-xs" />
              <div className="wrap-anywhere min-w-0">
                <bdi className="font-medium">{e.actor.name}</bdi> {words.historyKind[e.kind] ?? e.kind}
                {changesOf(e, people).map(c => (
                  <p key={c.field} className="text-soft">
                    {c.field}: <bdi className="line-clamp-2 inline">{c.from}</bdi> →{' '}
                    <bdi className="line-clamp-2 inline text-ink">{c.to}</bdi>
                  </p>
                ))}
              </div>
            </li>
          ))}
        </ol>
      )}
    </Answer>
  )
}
