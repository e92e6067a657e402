import { useEffect, useRef, useState } from 'react'
import { texts } from '../texts'
import { Button } from './Button'

interface Props {
  of: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }
  className?: string
}

/** Loads the next page of a list; nothing if there is none. */
export function LoadMore({ of, className = '' }: Props) {
  const [pressed, setPressed] = useState(false)
  const end = useRef<HTMLParagraphElement>(null)
  const isEnd = pressed && !of.hasNextPage
  useEffect(() => {
    // Keyboard users continue here instead of at the top of the page.
    if (isEnd && document.activeElement === document.body) end.current?.focus()
  }, [isEnd])
  if (isEnd)
    return (
      <p ref={end} className={`flex pt-3 text-soft text-xs outline-offset-2 ${className}`} tabIndex={-1}>
        {texts.ui.thatIsAll}
      </p>
    )
  if (!of.hasNextPage) return null
  return (
    <div className={`flex pt-3 ${className}`}>
      <Button
        busy={of.isFetchingNextPage}
        onClick={() => {
          setPressed(true)
          void of.fetchNextPage()
        }}
      >
        {texts.ui.loadMore}
      </Button>
    </div>
  )
}
