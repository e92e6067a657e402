import { useEffect } from 'react'
import { useLineState } from '../app/live'
import { checkBuild, useNewBuild } from '../app/newBuild'
import { texts } from '../texts'
import { Button } from '../ui/Button'

const look = 15 * 60_000

/** Offers to reload when a newer build is available, without interrupting the user. */
export function NewBuild() {
  const fresh = useNewBuild()
  const line = useLineState()
  useEffect(() => {
    if (line !== 'live' || fresh) return
    // A new connection often means a restarted server, so checks at once, and regularly after that.
    void checkBuild()
    const timer = setInterval(() => void checkBuild(), look)
    return () => clearInterval(timer)
  }, [line, fresh])
  if (!fresh) return null
  return (
    <div
      className="flex shrink-0 flex-wrap items-center justify-center gap-3 bg-accent-tint px-3 py-1 text-accent"
      role="status"
    >
      {texts.app.newBuild.text}
      <Button onClick={() => location.reload()}>{texts.app.newBuild.reload}</Button>
    </div>
  )
}
