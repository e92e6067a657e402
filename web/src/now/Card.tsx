import { Link } from '@tanstack/react-router'
import { type ReactNode, useId } from 'react'
import type { Place } from '../app/places'
import { Guarded } from '../ui/Guarded'
import { Icon } from '../ui/Icon'

/** A card with its own query and a link to the full page. A failing card doesn't affect the others. */
export function Card({
  title,
  to,
  beside,
  className = '',
  children,
}: {
  title: string
  to: { path: Place['path']; label: string }
  beside?: ReactNode
  className?: string
  children: ReactNode
}) {
  const id = useId()
  return (
    <section aria-labelledby={id} className={`hairline flex min-w-0 flex-col overflow-hidden rounded-md ${className}`}>
      <header className="flex min-h-9 shrink-0 items-center gap-2 border-line border-b bg-panel px-3">
        <h2 className="font-semibold" id={id}>
          {title}
        </h2>
        <span className="ml-auto flex items-center gap-1">
          {beside}
          <Link
            className="inline-flex h-7 items-center gap-0.5 rounded-md px-1.5 text-soft text-xs hover:bg-hover hover:text-ink"
            to={to.path}
          >
            {to.label}
            <Icon className="size-3.5" name="right" />
          </Link>
        </span>
      </header>
      <Guarded>{children}</Guarded>
    </section>
  )
}

/** The empty state of a card. */
export function Nothing({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="px-3 py-4">
      <p className="font-medium">{title}</p>
      {children && <div className="mt-1 text-soft">{children}</div>}
    </div>
  )
}
