import { useSyncExternalStore } from 'react'

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
  useSyncExternalStore(subscribe, () => of(Date.now()))
