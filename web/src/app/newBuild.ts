import { useSyncExternalStore } from 'react'
import { home } from './base'

const script = /src="((?:\/[^"]*)?\/assets\/[^"]+\.js)"/
const watchers = new Set<() => void>()
let fresh = false

/** Checks whether the server has a newer build of the dashboard than this page. */
export async function checkBuild(): Promise<void> {
  const ours = document.querySelector('script[type="module"][src]')?.getAttribute('src')
  if (fresh || !ours) return
  try {
    const answer = await fetch(`${home}/`, { headers: { Accept: 'text/html' }, cache: 'no-store' })
    const theirs = answer.ok ? script.exec(await answer.text())?.[1] : undefined
    if (!theirs || theirs === ours) return
    fresh = true
    for (const tell of watchers) tell()
  } catch {
    // Checked again later.
  }
}

/** Returns whether a newer build is known to be available. */
export const useNewBuild = (): boolean =>
  useSyncExternalStore(
    f => {
      watchers.add(f)
      return () => watchers.delete(f)
    },
    () => fresh,
  )
