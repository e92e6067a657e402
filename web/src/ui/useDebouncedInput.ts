import { useEffect, useRef, useState } from 'react'

/** How long typing must pause before it counts, in ms. */
const rest = 250

/**
 * Returns the text of a filter field and its change handler. `onChange` is called when typing pauses, because updating
 * the URL renders too slowly for every key press.
 */
export function useDebouncedInput(
  value: string,
  onRest: (text: string | undefined) => void,
): [typed: string, type: (text: string) => void] {
  const [typed, setTyped] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  const told = useRef(value)
  useEffect(() => {
    // The URL changed elsewhere: by a link, the back button, or "Clear filters".
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
