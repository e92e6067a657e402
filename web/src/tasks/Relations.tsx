import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useRef, useState } from 'react'
import type { Schemas } from '../api/client'
import { asProblem } from '../api/problem'
import { texts } from '../texts'
import { IconButton } from '../ui/Button'
import { State } from '../ui/State'
import { say, sayFailed } from '../ui/toast'
import { Failed } from '../ui/Views'
import { statusLook } from './Bits'
import { inverse, readAgain, sendChange, sendDependencies } from './change'
import { PickTask } from './PickTask'
import { blocksQuery, oneQuery, partsQuery, putTask } from './queries'
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
  const blocks = useQuery(blocksQuery(task.id))
  const waits = useTies(task)
  const part = useTies(task)
  const failed = above.find(a => a.error && !a.data)
  if (failed) return <Failed again={() => void failed.refetch()} error={failed.error} />
  const known = above.flatMap(a => (a.data ? [a.data] : []))
  const before = known.filter(t => task.depends_on?.some(d => d === t.id || d === t.key))
  const parent = known.find(t => [t.id, t.key].includes(task.parent_id ?? ''))
  const keys = task.depends_on ?? []
  return (
    <div className="flex flex-col gap-1">
      <Part
        add={words.addDependency}
        label={words.dependsOn}
        not={[task.key, ...keys]}
        of={waits}
        onOpen={onOpen}
        onPick={t => waits.mutate({ depends_on: [...keys, t.key] })}
        onRemove={t => waits.mutate({ depends_on: keys.filter(k => k !== t.key) })}
        tasks={before}
      />
      <Part label={words.blocks} onOpen={onOpen} tasks={blocks.data ?? []} />
      <Part
        add={parent ? words.otherParent : words.addParent}
        label={words.partOf}
        not={[task.key, ...(parent ? [parent.key] : [])]}
        of={part}
        onOpen={onOpen}
        onPick={t => part.mutate({ parent_id: t.key })}
        onRemove={() => part.mutate({ parent_id: null })}
        tasks={parent ? [parent] : []}
      />
      <Part label={words.parts} onOpen={onOpen} tasks={parts.data ?? []} />
    </div>
  )
}

interface PartProps {
  label: string
  tasks: readonly TaskCard[]
  onOpen: (key: string) => void
  /** The label of the field that adds a task; none for a list that other tasks determine. */
  add?: string
  not?: readonly string[]
  of?: { isPending: boolean; error: unknown }
  onPick?: (task: TaskCard) => void
  onRemove?: (task: TaskCard) => void
}

/** One kind of related tasks. Nothing if there are none and none can be added. */
function Part({ label, tasks, onOpen, add, not = [], of, onPick, onRemove }: PartProps) {
  const [adding, setAdding] = useState(false)
  const id = useId()
  const adds = useRef<HTMLButtonElement>(null)
  if (tasks.length === 0 && !add) return null
  const busy = of?.isPending ?? false
  return (
    <section aria-labelledby={id}>
      <div className="flex min-h-8 items-center justify-between">
        <h3 className="font-medium text-soft text-xs" id={id}>
          {label}
        </h3>
        {add && (
          <IconButton ref={adds} aria-expanded={adding} icon="plus" label={add} onClick={() => setAdding(!adding)} />
        )}
      </div>
      <ul>
        {tasks.map(t => (
          <li key={t.id} className="group flex items-center">
            <button
              className="-mx-1 flex min-h-8 min-w-0 grow items-center gap-1.5 rounded-md px-1 text-left hover:bg-hover pointer-coarse:min-h-10"
              onClick={() => onOpen(t.key)}
              title={t.title}
              type="button"
            >
              <State {...statusLook[t.status]}>
                <span className="sr-only">{words.status[t.status]}</span>
              </State>
              <span className="key shrink-0 text-soft">{t.key}</span>
              <bdi className="wrap-anywhere line-clamp-2 grow">{t.title}</bdi>
            </button>
            {onRemove && (
              <IconButton
                aria-disabled={busy || undefined}
                className="pointer-fine:opacity-0 pointer-fine:focus-visible:opacity-100 pointer-fine:group-hover:opacity-100"
                icon="close"
                label={words.untie(t.key)}
                onClick={() => !busy && onRemove(t)}
              />
            )}
          </li>
        ))}
      </ul>
      {(adding || of?.error) && add && onPick ? (
        <PickTask
          autoFocus
          busy={busy}
          error={of?.error}
          label={add}
          not={not}
          onPick={t => {
            setAdding(false)
            adds.current?.focus()
            onPick(t)
          }}
        />
      ) : null}
    </section>
  )
}
