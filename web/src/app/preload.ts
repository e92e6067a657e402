import { idle } from './idle'

type Load = () => Promise<unknown>

/** Loaders of the lazy components, in the order of registration. */
const parts: Load[] = []

/** Registers a lazy component, so that `preloadAll` can load it in advance. */
export const registerLazy = (load: Load): void => void parts.push(load)

/** Returns whether the browser is set to save data. */
const sparing = (): boolean =>
  (navigator as Navigator & { connection?: { saveData?: boolean } }).connection?.saveData === true

/**
 * Loads all lazy components one by one while the browser is idle, so that every page opens even if the server goes
 * away. Stops at the first failure or when aborted.
 */
export async function preloadAll(signal: AbortSignal): Promise<void> {
  if (sparing()) return
  for (const load of parts) {
    await idle(5_000)
    if (signal.aborted) return
    try {
      await load()
    } catch {
      return
    }
  }
}
