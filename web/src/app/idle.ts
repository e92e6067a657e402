import { startTransition, useEffect, useState } from 'react'

/** Resolves when the browser is idle, or after `timeout` ms. */
export const idle = (timeout: number): Promise<void> =>
  new Promise(done => {
    if (typeof requestIdleCallback === 'function') requestIdleCallback(() => done(), { timeout })
    else setTimeout(done, 200)
  })

/** Returns false for the first render and true once the browser is idle, to defer less urgent parts of a component. */
export function useDrawn(): boolean {
  const [drawn, setDrawn] = useState(false)
  useEffect(() => {
    let gone = false
    void idle(1_000).then(() => {
      if (!gone) startTransition(() => setDrawn(true))
    })
    return () => {
      gone = true
    }
  }, [])
  return drawn
}
