import { type ReactNode, useState } from 'react'

/**
 * Flashes once when its value changes. The first value, a loaded value, and reduced motion don't flash; see `flash` in
 * tokens.css.
 */
export function Flash({
  of,
  className = '',
  children,
}: {
  /** The value to compare. */
  of: string | number | null | undefined
  className?: string
  children: ReactNode
}) {
  const [was, setWas] = useState(of)
  const [times, setTimes] = useState(0)
  if (was !== of) {
    setWas(of)
    if ((was ?? null) !== null && (of ?? null) !== null) setTimes(times + 1)
  }
  // A new key remounts the element, which restarts the animation.
  return (
    <span
      key={times}
      className={`inline-flex min-w-0 rounded-sm tabular-nums ${times > 0 ? 'flash' : ''} ${className}`}
    >
      {children}
    </span>
  )
}
