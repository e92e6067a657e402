import { useSyncExternalStore } from 'react'
import { asProblem } from '../api/problem'
import { later } from '../app/later'

/** Something that is said in passing. */
export interface Said {
  title: string
  description?: string
  undo?: () => void
  failed?: boolean
}

// What shows them is loaded with the first one; until then they wait here.
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

/** Has everything that is said shown, also what waits. */
export function take(by: (said: Said) => void): void {
  show = by
  const all = waiting
  waiting = []
  for (const said of all) by(said)
}

/** Says in passing what was done, and how to undo it. */
export const say = (title: string, undo?: () => void): void => tell({ title, ...(undo ? { undo } : {}) })

/** Says what could not be done. It stays until it is closed: nobody should miss it. */
export function sayFailed(error: unknown, what?: string): void {
  const problem = asProblem(error)
  tell({
    title: what ?? problem.title,
    description: what ? `${problem.title} ${problem.detail}` : problem.detail,
    failed: true,
  })
}

/** What is said while it cannot be loaded waits for it. */
const ToastList = later(
  () => import('./ToastList'),
  'ToastList',
  () => null,
)

const subscribe = (f: () => void) => {
  watchers.add(f)
  return () => watchers.delete(f)
}

/** Where what is said in passing appears. Once, around everything. */
export function Toasts() {
  const open = useSyncExternalStore(subscribe, () => wanted)
  return open && <ToastList />
}
