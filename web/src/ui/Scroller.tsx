import { type ReactNode, useRef } from 'react'
import { type Sides, useEdges } from './useEdges'

/** Fades at the sides where content is cut off. */
export function Edges({ of }: { of: Sides }) {
  const side = 'pointer-events-none absolute inset-y-0 z-30 w-3'
  return (
    <>
      {of.left && <span className={`${side} left-0 bg-linear-to-r from-ground to-transparent`} data-more="left" />}
      {of.right && <span className={`${side} right-0 bg-linear-to-l from-ground to-transparent`} data-more="right" />}
    </>
  )
}

/** A horizontally scrollable region that shows where there is more. */
export function Scroller({
  label,
  className = '',
  children,
}: {
  label: string
  className?: string
  children: ReactNode
}) {
  const ref = useRef<HTMLElement>(null)
  const edges = useEdges(ref)
  return (
    <div className={`relative flex min-w-0 flex-col overflow-hidden ${className}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable */}
      <section ref={ref} aria-label={label} className="min-h-0 overflow-auto -outline-offset-2" tabIndex={0}>
        {children}
      </section>
      <Edges of={edges} />
    </div>
  )
}
