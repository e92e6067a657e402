import type { Task, TaskCard } from './task'

/** Optimistic changes by task that the server hasn't confirmed, oldest first. */
const looks = new Map<string, Partial<Task>[]>()

/** The last change sent for each task, until it is answered. */
const sent = new Map<string, Promise<unknown>>()

/**
 * Applies an optimistic change until the returned function is called, even to data fetched in between, which is older.
 */
export function begin(id: string, look: Partial<Task>): () => void {
  looks.set(id, [...(looks.get(id) ?? []), look])
  return () => {
    const left = (looks.get(id) ?? []).filter(l => l !== look)
    if (left.length > 0) looks.set(id, left)
    else looks.delete(id)
  }
}

/** Returns a fetched task with its unconfirmed changes applied. */
export function withAwaited<T extends TaskCard>(task: T): T {
  const over = looks.get(task.id)
  return over ? Object.assign({}, task, ...over) : task
}

/** Sends the changes of a task one after another, because concurrent requests may arrive in any order. */
export function inTurn<T>(id: string, send: () => Promise<T>): Promise<T> {
  const before = sent.get(id)
  const mine = before ? before.then(send, send) : send()
  sent.set(id, mine)
  const done = () => {
    if (sent.get(id) === mine) sent.delete(id)
  }
  mine.then(done, done)
  return mine
}
