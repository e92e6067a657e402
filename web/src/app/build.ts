import { useSyncExternalStore } from 'react'

const script = /src="(\/assets\/[^"]+\.js)"/
const watchers = new Set<() => void>()
let fresh = false

/** Asks the server whether its dashboard is another than this one. */
export async function askBuild(): Promise<void> {
  const ours = document.querySelector('script[type="module"][src]')?.getAttribute('src')
  if (fresh || !ours) return
  try {
    const answer = await fetch('/', { headers: { Accept: 'text/html' }, cache: 'no-store' })
    const theirs = answer.ok ? script.exec(await answer.text())?.[1] : undefined
    if (!theirs || theirs === ours) return
    fresh = true
    for (const tell of watchers) tell()
  } catch {
    // Then it is asked again later.
  }
}

/** Whether the server is known to have a newer dashboard than this one. */
export const useFreshBuild = (): boolean =>
  useSyncExternalStore(
    f => {
      watchers.add(f)
      return () => watchers.delete(f)
    },
    () => fresh,
  )
