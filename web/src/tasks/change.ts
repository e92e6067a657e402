import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { api, ifMatch, type Schemas, take } from '../api/client'
import { asProblem, Problem } from '../api/problem'
import { texts } from '../texts'
import { say, sayFailed } from '../ui/Toast'
import { begin, inTurn } from './awaited'
import { putTask } from './queries'
import type { Task, TaskCard } from './task'

type Body = Schemas['TaskChange']

/** How long a change may take, in ms: those behind it wait, and must not for ever. */
const patience = 60_000

/** Sends a change, after those of the same task that were sent before; with a version it is refused when somebody was faster. */
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
 * Sends what a task depends on. The list replaces all of them: it must be the one that was seen. Whatever else of the
 * task has changed meanwhile, by hand of the same person or of others, is no reason to refuse it.
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

/** What a body takes back, for undoing it. */
export function inverse(was: TaskCard, body: Body): Body {
  const back: Record<string, unknown> = {}
  for (const name of Object.keys(body) as (keyof Body)[]) {
    if (name === 'position' || name === 'claim_token') continue
    if (name === 'blocked') back.blocked = was.blocked ? { reason: was.blocked.reason } : null
    else back[name] = was[name as keyof TaskCard]
  }
  return back as Body
}

/** Reads a task anew and shows it everywhere. */
export async function readAgain(cache: QueryClient, task: TaskCard): Promise<void> {
  try {
    putTask(cache, await read(task.id))
  } catch {
    // Then it is what it was before.
    putTask(cache, task)
  }
}

export interface Step {
  task: TaskCard
  body: Body
  /** What the task looks like until the service has answered. */
  looks?: Partial<Task>
  /** What is said when it is done, with a way back; nothing when it is left out. */
  done?: string
  /** Called when it is done. */
  onDone?: () => void
  /** The place to go back to, which the task itself does not know. */
  placeBefore?: Schemas['TaskPlace']
}

/** Changes a task at once on the screen, then at the service; what it refuses is put back and said. */
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
        // Its neighbour may have moved on: it is taken back all the same.
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
