import { useSyncExternalStore } from 'react'

// Difference between the server's clock and this machine's, so that ages are right even when the local clock is wrong.
let ahead = 0

/** The current time by the server's clock, in ms. */
export const now = (): number => Date.now() + ahead

/**
 * Smaller differences are ignored: they come from network latency and the one-second resolution of the `Date` header.
 */
const tolerated = 5_000

/** Updates the clock difference from the `Date` header of a response. */
export function hear(date: string | null): void {
  const at = Date.parse(date ?? '')
  if (Number.isNaN(at)) return
  const by = at - Date.now()
  if (Math.abs(by - ahead) > tolerated) ahead = Math.abs(by) > tolerated ? by : 0
}

const watchers = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | null = null

function subscribe(f: () => void): () => void {
  watchers.add(f)
  timer ??= setInterval(() => {
    // Hidden tabs don't need to tick.
    if (!document.hidden) for (const tell of watchers) tell()
  }, 1000)
  return () => {
    watchers.delete(f)
    if (watchers.size === 0 && timer !== null) {
      clearInterval(timer)
      timer = null
    }
  }
}

/**
 * Returns a value that depends on the current time. All components share one timer, and a component renders only when
 * its own value changes.
 */
export const useTicking = <T extends string | number | boolean | null>(of: (now: number) => T): T =>
  useSyncExternalStore(subscribe, () => of(now()))

/** Like `useTicking`, but by this machine's clock, for comparing with locally taken timestamps. */
export const useTickingHere = <T extends string | number | boolean | null>(of: (now: number) => T): T =>
  useSyncExternalStore(subscribe, () => of(Date.now()))
