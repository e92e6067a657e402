import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useForeign, useLate } from '../app/delivery'
import { rereadFailed } from '../app/live/patches'
import { texts } from '../texts'
import { Button } from '../ui/Button'
import { Icon } from '../ui/Icon'

const words = texts.app.delivery

/** Time between retries while something else answers, in ms. */
const pause = 10_000

/** One line above every page while something between the browser and Wardroom answers, or nothing does. */
export function Delivery() {
  const foreign = useForeign()
  const late = useLate()
  const cache = useQueryClient()
  useEffect(() => {
    if (foreign === null) return
    const timer = setInterval(() => rereadFailed(cache), pause)
    return () => clearInterval(timer)
  }, [foreign, cache])
  if (foreign === null && !late) return null
  return (
    <div
      className="flex shrink-0 flex-wrap items-center justify-center gap-x-3 gap-y-1 bg-attention-tint px-3 py-1 text-attention"
      role="status"
    >
      <span className="inline-flex items-center gap-1.5">
        <Icon className="size-3.5" name="warning" />
        {foreign === null ? words.late : words.foreign(foreign)}
      </span>
      <Button onClick={() => location.reload()}>{texts.app.broken.reload}</Button>
    </div>
  )
}
