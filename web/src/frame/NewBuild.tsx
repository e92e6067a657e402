import { useEffect, useState } from 'react'
import { useLineState } from '../app/live'
import { texts } from '../texts'
import { Button } from '../ui/Button'

const script = /src="(\/assets\/[^"]+\.js)"/
const look = 15 * 60_000

/** Says that the server has a newer page than this one. Whoever is writing something reloads when they like. */
export function NewBuild() {
  const [fresh, setFresh] = useState(false)
  const line = useLineState()
  useEffect(() => {
    if (line !== 'live' || fresh) return
    const ours = document.querySelector('script[type="module"][src]')?.getAttribute('src')
    const ask = async () => {
      try {
        const answer = await fetch('/', { headers: { Accept: 'text/html' }, cache: 'no-store' })
        const theirs = answer.ok ? script.exec(await answer.text())?.[1] : undefined
        if (theirs && ours && theirs !== ours) setFresh(true)
      } catch {
        // Then it is asked again later.
      }
    }
    // The line is new as a rule because the server is: it is asked then, and now and again.
    void ask()
    const timer = setInterval(ask, look)
    return () => clearInterval(timer)
  }, [line, fresh])
  if (!fresh) return null
  return (
    <div
      className="flex shrink-0 flex-wrap items-center justify-center gap-3 bg-done-tint px-3 py-1 text-done"
      role="status"
    >
      {texts.app.newBuild.text}
      <Button onClick={() => location.reload()}>{texts.app.newBuild.reload}</Button>
    </div>
  )
}
