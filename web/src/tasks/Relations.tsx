import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Schemas } from '../api/client'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { IconButton } from '../ui/Button'
import { say, sayFailed } from '../ui/toast'
import { Failed, Skeleton } from '../ui/Views'
import { StatusMark } from './Bits'
import { inverse, readAgain, sendChange, sendDependencies } from './change'
import { PickTask } from './PickTask'
import { oneQuery, partsQuery, putTask } from './queries'
import type { Task, TaskCard } from './task'

const words = texts.tasks
type Ties = Pick<Schemas['TaskChange'], 'depends_on' | 'parent_id'>

/** Adds and removes dependencies and the parent. Errors, such as a cycle, show at the field. */
function useTies(task: Task) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (ties: Ties) => (ties.depends_on ? sendDependencies(task, ties) : sendChange(task.id, ties)),
    onSuccess: (next, ties) => {
      putTask(cache, next)
      say(words.changed(task.key), () => {
        sendChange(task.id, inverse(task, ties)).then(
          back => putTask(cache, back),
          err => sayFailed(err, words.couldNot(task.key)),
        )
      })
    },
    onError: err => asProblem(err).status === 412 && void readAgain(cache, task),
  })
}

/** The dependencies, parent task, and subtasks of a task. */
export function Relations({ task, onOpen }: { task: Task; onOpen: (key: string) => void }) {
  const above = useQueries({
    queries: [...(task.depends_on ?? []), ...(task.parent_id ? [task.parent_id] : [])].map(id => oneQuery(id)),
  })
  const parts = useQuery(partsQuery(task.id))
  const waits = useTies(task)
  const part = useTies(task)
  const failed = above.find(a => a.error && !a.data)
  if (failed) return <Failed again={() => void failed.refetch()} error={failed.error} />
  if (above.some(a => a.isPending) || parts.isPending)
    return <Skeleton label={`${texts.ui.loading} ${words.relations.toLowerCase()}`} rows={2} />
  const known = above.flatMap(a => (a.data ? [a.data] : []))
  const before = known.filter(t => task.depends_on?.some(d => d === t.id || d === t.key))
  const parent = known.find(t => [t.id, t.key].includes(task.parent_id ?? ''))
  const keys = task.depends_on ?? []
  return (
    <div className="flex flex-col gap-4">
      <Part label={words.dependsOn}>
        <Lines
          busy={waits.isPending}
          onOpen={onOpen}
          onRemove={t => waits.mutate({ depends_on: keys.filter(k => k !== t.key) })}
          tasks={before}
        />
        <PickTask
          busy={waits.isPending}
          error={waits.error}
          label={words.addDependency}
          not={[task.key, ...keys]}
          onPick={t => waits.mutate({ depends_on: [...keys, t.key] })}
        />
      </Part>
      <Part label={words.partOf}>
        <Lines
          busy={part.isPending}
          onOpen={onOpen}
          onRemove={() => part.mutate({ parent_id: null })}
          tasks={parent ? [parent] : []}
        />
        <PickTask
          busy={part.isPending}
          error={part.error}
          label={parent ? words.otherParent : words.addParent}
          not={[task.key, ...(parent ? [parent.key] : [])]}
          onPick={t => part.mutate({ parent_id: t.key })}
        />
      </Part>
      {parts.data && parts.data.length > 0 && (
        <Part label={words.parts}>
          <Lines busy={false} onOpen={onOpen} tasks={parts.data} />
        </Part>
      )}
    </div>
  )
}

function Part({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <section aria-label={label} className="flex flex-col gap-1">
      <h3 className="font-medium text-soft text-xs">{label}</h3>
      {children}
    </section>
  )
}

function Lines({
  tasks,
  busy,
  onOpen,
  onRemove,
}: {
  tasks: readonly TaskCard[]
  busy: boolean
  onOpen: (key: string) => void
  onRemove?: (task: TaskCard) => void
}) {
  if (tasks.length === 0) return null
  return (
    <ul>
      {tasks.map(t => (
        <li key={t.id} className="flex items-center gap-1">
          <button
            className="flex h-8 min-w-0 grow items-center gap-2 rounded-md px-1 text-left hover:bg-hover"
            onClick={() => onOpen(t.key)}
            type="button"
          >
            <span className="key shrink-0 text-soft">{t.key}</span>
            <bdi className="grow truncate">{t.title}</bdi>
            <StatusMark of={t.status} />
          </button>
          {onRemove && (
            <IconButton
              aria-disabled={busy || undefined}
              icon="close"
              label={words.untie(t.key)}
              onClick={() => !busy && onRemove(t)}
            />
          )}
        </li>
      ))}
    </ul>
  )
}
