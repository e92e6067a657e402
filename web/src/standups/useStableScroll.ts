import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from 'react'

/**
 * Keeps the reading position while content above it grows, except at the very top. Uses elements with `data-steady` as
 * anchors, because not every browser supports scroll anchoring.
 */
export function useStableScroll(version: unknown): {
  scroller: RefObject<HTMLDivElement | null>
  onScroll: () => void
} {
  const scroller = useRef<HTMLDivElement>(null)
  const anchor = useRef<{ part: Element; top: number } | null>(null)
  const onScroll = useCallback(() => {
    const box = scroller.current
    anchor.current = null
    if (!box || box.scrollTop < 8) return
    // The sticky header covers the top.
    const covered = Number.parseFloat(getComputedStyle(box).scrollPaddingTop) || 0
    const edge = box.getBoundingClientRect().top + covered + 8
    for (const part of box.querySelectorAll('[data-steady]')) {
      const at = part.getBoundingClientRect()
      if (at.bottom <= edge) continue
      anchor.current = { part, top: at.top }
      return
    }
  }, [])
  const keep = useCallback(() => {
    const [box, was] = [scroller.current, anchor.current]
    if (box && was?.part.isConnected) box.scrollTop += was.part.getBoundingClientRect().top - was.top
    onScroll()
  }, [onScroll])
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the content changes
  useLayoutEffect(keep, [version, keep])
  useEffect(() => {
    // Parts that load later, such as titles, change the height too.
    const content = scroller.current?.firstElementChild
    if (!content) return
    const watch = new ResizeObserver(keep)
    watch.observe(content)
    return () => watch.disconnect()
  }, [keep])
  return { scroller, onScroll }
}
