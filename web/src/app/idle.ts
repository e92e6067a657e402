import { startTransition, useEffect, useState } from 'react'

/** Waits until nothing else is to be done, and for so many ms at most. */
export const idle = (timeout: number): Promise<void> =>
  new Promise(done => {
    if (typeof requestIdleCallback === 'function') requestIdleCallback(() => done(), { timeout })
    else setTimeout(done, 200)
  })

/** Whether what is seen first of a component is drawn, and there is time for what is only needed in a moment. */
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
