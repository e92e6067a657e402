import { idle } from './idle'

type Load = () => Promise<unknown>

/** What comes after the first load, in the order in which it was told. */
const parts: Load[] = []

/** Tells of a part of the dashboard that is loaded when it is needed; `fetchParts` may do so before. */
export const tellPart = (load: Load): void => void parts.push(load)

/** Somebody asked their browser to load as little as it can. */
const sparing = (): boolean =>
  (navigator as Navigator & { connection?: { saveData?: boolean } }).connection?.saveData === true

/**
 * Loads one part after the other while nothing else is to be done, so that all places are there when the service is
 * not. It ends at the first that cannot be loaded, or when it is told to; what is there is not loaded again.
 */
export async function fetchParts(signal: AbortSignal): Promise<void> {
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
