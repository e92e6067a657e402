import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { age, moments } from '../app/format'

/** How long ago something was. It counts by itself; the moment in both zones is behind it. */
export function Age({ at, className = '' }: { at: string; className?: string }) {
  const text = useTicking(now => age(at, now))
  const zone = useZone()
  return (
    <time className={`whitespace-nowrap ${className}`} dateTime={at} title={moments(at, zone)}>
      {text}
    </time>
  )
}
