import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { api, ifMatch, type Schemas, take } from '../api/client'
import { asProblem, Problem } from '../api/problem'
import { texts } from '../texts'
import { say, sayFailed } from '../ui/toast'
import { begin, inTurn } from './pendingChanges'
import { putTask } from './queries'
import type { Task, TaskCard } from './task'

type Body = Schemas['TaskChange']

/** Timeout of a change, in ms, so that later changes don't wait forever. */
const patience = 60_000

/** Sends a change after earlier changes of the same task. With a version, the server refuses it if the task changed. */
export const sendChange = (id: string, body: Body, version?: number): Promise<Task> =>
  inTurn(id, () =>
    take(
      api.PATCH('/api/v1/tasks/{id}', {
        params: { path: { id }, ...(version ? { header: ifMatch(version) } : {}) },
        body,
        signal: AbortSignal.timeout(patience),
      }),
    ),
  )

/**
 * Replaces the dependencies of a task. Only a changed dependency list is a conflict; other changes of the task are not.
 */
export async function sendDependencies(seen: Task, body: Body): Promise<Task> {
  try {
    return await sendChange(seen.id, body, seen.version)
  } catch (err) {
    if (asProblem(err).status !== 412) throw err
    const now = await read(seen.id)
    if (String(now.depends_on) !== String(seen.depends_on)) throw err
    return sendChange(seen.id, body, now.version)
  }
}

const read = (id: string): Promise<Task> => take(api.GET('/api/v1/tasks/{id}', { params: { path: { id } } }))

/** Returns the change that undoes a change. */
export function inverse(was: TaskCard, body: Body): Body {
  const back: Record<string, unknown> = {}
  for (const name of Object.keys(body) as (keyof Body)[]) {
    if (name === 'position' || name === 'claim_token') continue
    back[name] = was[name as keyof TaskCard]
  }
  if (body.status) back.moved_at = was.moved_at
  // A task that is done isn't blocked.
  if (body.status === 'done' && was.blocked) back.blocked = was.blocked
  return back as Body
}

/** Refetches a task and updates it everywhere. */
export async function readAgain(cache: QueryClient, task: TaskCard): Promise<void> {
  try {
    putTask(cache, await read(task.id))
  } catch {
    // The task keeps its last state.
    putTask(cache, task)
  }
}

export interface Step {
  task: TaskCard
  body: Body
  /** The fields that the task is expected to have after the change, shown until the server answers. */
  looks?: Partial<Task>
  /** The success message, with an Undo button; none if omitted. */
  done?: string
  /** Called on success. */
  onDone?: () => void
  /** The position that Undo restores. A task doesn't contain it. */
  placeBefore?: Schemas['TaskPlace']
}

/** Returns a function that changes a task optimistically, and reverts it if the server refuses. */
export function useChange(): (step: Step) => void {
  const cache = useQueryClient()
  const { mutate } = useMutation({
    mutationFn: (s: Step) => sendChange(s.task.id, s.body),
    onMutate: s => {
      const end = begin(s.task.id, s.looks ?? {})
      putTask(cache, s.task)
      return end
    },
    onSuccess: (task, s, end) => {
      end()
      putTask(cache, task)
      s.onDone?.()
      if (!s.done) return
      say(s.done, () => {
        const back = inverse(s.task, s.body)
        const there = s.placeBefore
          ? sendChange(s.task.id, { ...back, position: s.placeBefore })
          : sendChange(s.task.id, back)
        // The neighbor may have moved: undo without the position.
        const anywhere = (err: unknown) => {
          if (!s.placeBefore || Object.keys(back).length === 0 || !(err instanceof Problem) || err.status < 400)
            throw err
          return sendChange(s.task.id, back)
        }
        there.catch(anywhere).then(
          back => putTask(cache, back),
          err => sayFailed(err, texts.tasks.couldNot(s.task.key)),
        )
      })
    },
    onError: (err, s, end) => {
      end?.()
      sayFailed(err, texts.tasks.couldNot(s.task.key))
      putTask(cache, s.task)
      if (!(err instanceof Problem) || err.status !== 0) void readAgain(cache, s.task)
    },
  })
  return useCallback(step => mutate(step), [mutate])
}
