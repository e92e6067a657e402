import { type RefObject, useCallback, useLayoutEffect, useRef } from 'react'

/**
 * Keeps what somebody reads where it is while something above it grows. Whoever
 * is at the very top sees it grow. Parts that can be read carry `data-steady`.
 * The browser's own anchoring is switched off there: not every one has it.
 */
export function useSteady(version: unknown): { scroller: RefObject<HTMLDivElement | null>; onScroll: () => void } {
  const scroller = useRef<HTMLDivElement>(null)
  const anchor = useRef<{ part: Element; top: number } | null>(null)
  const onScroll = useCallback(() => {
    const box = scroller.current
    anchor.current = null
    if (!box || box.scrollTop < 8) return
    // Where the head lies over it, nothing can be read.
    const covered = Number.parseFloat(getComputedStyle(box).scrollPaddingTop) || 0
    const edge = box.getBoundingClientRect().top + covered + 8
    for (const part of box.querySelectorAll('[data-steady]')) {
      const at = part.getBoundingClientRect()
      if (at.bottom <= edge) continue
      anchor.current = { part, top: at.top }
      return
    }
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version is what makes things grow
  useLayoutEffect(() => {
    const [box, was] = [scroller.current, anchor.current]
    if (box && was?.part.isConnected) box.scrollTop += was.part.getBoundingClientRect().top - was.top
    onScroll()
  }, [version, onScroll])
  return { scroller, onScroll }
}
