import type { Task, TaskCard } from './task'

/** How tasks look by the changes that the service has not answered yet, by task, the oldest change first. */
const looks = new Map<string, Partial<Task>[]>()

/** The last change of each task that was sent, until it is answered. */
const sent = new Map<string, Promise<unknown>>()

/** Has a task look so until `end` is called, whatever is read of it meanwhile: that is older than the change. */
export function begin(id: string, look: Partial<Task>): () => void {
  looks.set(id, [...(looks.get(id) ?? []), look])
  return () => {
    const left = (looks.get(id) ?? []).filter(l => l !== look)
    if (left.length > 0) looks.set(id, left)
    else looks.delete(id)
  }
}

/** A task that was read, with the changes that are still on their way. */
export function withAwaited<T extends TaskCard>(task: T): T {
  const over = looks.get(task.id)
  return over ? Object.assign({}, task, ...over) : task
}

/** Sends the changes of one task one after the other: two at once may arrive in either order, and the first would last. */
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
