import { useSyncExternalStore } from 'react'
import { asProblem } from '../api/problem'

/** A toast message. */
export interface Said {
  title: string
  description?: string
  undo?: () => void
  failed?: boolean
}

// Messages wait here until the toast list has loaded.
let waiting: Said[] = []
let show: ((said: Said) => void) | null = null
let wanted = false
const watchers = new Set<() => void>()

function tell(said: Said): void {
  if (show) {
    show(said)
    return
  }
  waiting.push(said)
  wanted = true
  for (const watch of watchers) watch()
}

/** Sets the function that shows toasts, and passes it the waiting ones. */
export function take(by: (said: Said) => void): void {
  show = by
  const all = waiting
  waiting = []
  for (const said of all) by(said)
}

/** Shows a toast, with an Undo button if `undo` is given. */
export const say = (title: string, undo?: () => void): void => tell({ title, ...(undo ? { undo } : {}) })

/** Shows an error toast, which stays until it is closed. */
export function sayFailed(error: unknown, what?: string): void {
  const problem = asProblem(error)
  tell({
    title: what ?? problem.title,
    description: what ? `${problem.title} ${problem.detail}` : problem.detail,
    failed: true,
  })
}

/** Returns whether there has been a toast. */
export const useToastsWanted = (): boolean =>
  useSyncExternalStore(
    f => {
      watchers.add(f)
      return () => watchers.delete(f)
    },
    () => wanted,
  )
