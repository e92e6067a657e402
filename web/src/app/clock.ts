import { useSyncExternalStore } from 'react'

// Whoever looks may have a clock that is wrong by hours, and would then see ages that
// are: so time is told by the service's clock, as far as its answers tell it.
let ahead = 0

/** What the service's clock shows, in ms. */
export const now = (): number => Date.now() + ahead

/** Less than this is the way of the answer, and the whole seconds in which the service tells the time. */
const tolerated = 5_000

/** Takes note of the time that an answer of the service tells in its header `Date`, if it does. */
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
    // Nobody sees a hidden tab count.
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
 * Something that changes as time passes. One timer serves all; a component is
 * rendered again only when its own text has become another.
 */
export const useTicking = <T extends string | number | boolean | null>(of: (now: number) => T): T =>
  useSyncExternalStore(subscribe, () => of(now()))

/** The same by the clock of this machine, for what is held against times that it took itself. */
export const useTickingHere = <T extends string | number | boolean | null>(of: (now: number) => T): T =>
  useSyncExternalStore(subscribe, () => of(Date.now()))
