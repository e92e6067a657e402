import { type ReactNode, useState } from 'react'

/**
 * What becomes another lights up once, so that one sees what moved without
 * anything having moved. What was there from the start does not, nor what was
 * unknown and is read, nor anything for those who want calm; see `flash` in
 * tokens.css.
 */
export function Changed({
  of,
  className = '',
  children,
}: {
  /** What is compared: the thing that is shown, without its age. */
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
  // Another key is another element, whose animation begins anew.
  return (
    <span key={times} className={`inline-flex min-w-0 rounded-sm ${times > 0 ? 'flash' : ''} ${className}`}>
      {children}
    </span>
  )
}
