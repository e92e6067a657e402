import { useEffect, useRef, useState } from 'react'

/** How long somebody rests before what they typed counts, in ms. */
const rest = 250

/**
 * What somebody types to filter by, and what to call with each letter. It is told
 * when they rest: the address that it goes into is drawn later than a letter must be.
 */
export function useTyped(
  value: string,
  onRest: (text: string | undefined) => void,
): [typed: string, type: (text: string) => void] {
  const [typed, setTyped] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  const told = useRef(value)
  useEffect(() => {
    // Somebody else changed the address: a link, back, "clear filters".
    if (value === told.current) return
    told.current = value
    setTyped(value)
  }, [value])
  useEffect(() => () => (timer.current ? clearTimeout(timer.current) : undefined), [])
  return [
    typed,
    text => {
      setTyped(text)
      if (timer.current) clearTimeout(timer.current)
      timer.current = setTimeout(() => {
        told.current = text.trim()
        onRest(text.trim() || undefined)
      }, rest)
    },
  ]
}
