import { useSyncExternalStore } from 'react'

/** What is requested: data, the event stream, and the files of pages that were not opened before. */
export type Channel = 'data' | 'stream' | 'files'

/** How long a request may wait for the beginning of its response, in ms, before the page says so. */
const patience = 10_000

const foreign = new Map<Channel, string>()
let late = 0
const watchers = new Set<() => void>()

const tell = (): void => {
  for (const watch of watchers) watch()
}

/** Notes what answered instead of Wardroom, such as `HTTP 401`, or null when Wardroom itself has answered. */
export function noteForeign(channel: Channel, what: string | null): void {
  if ((foreign.get(channel) ?? null) === what) return
  if (what === null) foreign.delete(channel)
  else foreign.set(channel, what)
  tell()
}

/** Notes that a request was sent. The returned function must be called once when it is answered, failed or canceled. */
export function noteSent(): () => void {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    late++
    tell()
  }, patience)
  return () => {
    clearTimeout(timer)
    if (!isLate) return
    late--
    tell()
  }
}

const subscribe = (f: () => void) => {
  watchers.add(f)
  return () => watchers.delete(f)
}

/** Returns what answered instead of Wardroom at last, or null. */
export const useForeign = (): string | null => useSyncExternalStore(subscribe, () => [...foreign.values()][0] ?? null)

/** Returns whether a request has waited too long for its response. */
export const useLate = (): boolean => useSyncExternalStore(subscribe, () => late > 0)
