import { useQueries, useQuery } from '@tanstack/react-query'
import { texts } from '../texts'
import { Failed, Skeleton } from '../ui/Views'
import { StatusMark } from './Bits'
import { oneQuery, partsQuery } from './queries'
import type { Task } from './task'

const words = texts.tasks

/** What a task waits for, what it is part of, and its parts. */
export function Relations({ task, onOpen }: { task: Task; onOpen: (key: string) => void }) {
  const above = useQueries({
    queries: [...(task.depends_on ?? []), ...(task.parent_id ? [task.parent_id] : [])].map(id => oneQuery(id)),
  })
  const parts = useQuery(partsQuery(task.id))
  const failed = above.find(a => a.error && !a.data)
  if (failed) return <Failed again={() => void failed.refetch()} error={failed.error} />
  if (above.some(a => a.isPending) || parts.isPending) return <Skeleton label={words.relations} rows={2} />
  const known = above.flatMap(a => (a.data ? [a.data] : []))
  const waits = known.filter(t => task.depends_on?.some(d => d === t.id || d === t.key))
  const parent = known.filter(t => [t.id, t.key].includes(task.parent_id ?? ''))
  const lists = [
    { label: words.dependsOn, tasks: waits },
    { label: words.partOf, tasks: parent },
    { label: words.parts, tasks: parts.data ?? [] },
  ].filter(l => l.tasks.length > 0)
  if (lists.length === 0) return <p className="text-soft">{words.noRelations}</p>
  return (
    <div className="flex flex-col gap-3">
      {lists.map(l => (
        <section key={l.label}>
          <h3 className="mb-1 font-medium text-soft text-xs">{l.label}</h3>
          <ul>
            {l.tasks.map(t => (
              <li key={t.id}>
                <button
                  className="flex h-8 w-full items-center gap-2 rounded-md px-1 text-left hover:bg-hover"
                  onClick={() => onOpen(t.key)}
                  type="button"
                >
                  <span className="key shrink-0 text-soft">{t.key}</span>
                  <bdi className="grow truncate">{t.title}</bdi>
                  <StatusMark of={t.status} />
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}
