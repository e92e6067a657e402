import { type RefObject, useLayoutEffect, useState } from 'react'

export interface Sides {
  left: boolean
  right: boolean
}

const none: Sides = { left: false, right: false }

/** Returns the sides at which a scrollable element has hidden content. */
export function useEdges(ref: RefObject<HTMLElement | null>): Sides {
  const [sides, setSides] = useState(none)
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return
    const look = () => {
      const { scrollLeft, scrollWidth, clientWidth } = element
      // Ignores half pixels on zoomed screens.
      const left = scrollLeft > 1
      const right = scrollLeft + clientWidth < scrollWidth - 1
      setSides(was => (was.left === left && was.right === right ? was : { left, right }))
    }
    look()
    element.addEventListener('scroll', look, { passive: true })
    const watch = new ResizeObserver(look)
    watch.observe(element)
    for (const child of element.children) watch.observe(child)
    return () => {
      element.removeEventListener('scroll', look)
      watch.disconnect()
    }
  }, [ref])
  return sides
}

/** Returns whether an element is narrower than `least` px, before the first paint and on every change. */
export function useNarrow(ref: RefObject<HTMLElement | null>, least: number): boolean {
  const [narrow, setNarrow] = useState(false)
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return
    const look = () => setNarrow(element.clientWidth < least)
    look()
    const watch = new ResizeObserver(look)
    watch.observe(element)
    return () => watch.disconnect()
  }, [ref, least])
  return narrow
}
