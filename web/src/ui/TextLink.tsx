import { useRouter } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/**
 * A link within the dashboard to an address that is put together as text, such
 * as one into another place; it is followed without loading the page anew.
 */
export function TextLink({
  href,
  className = 'text-accent hover:underline',
  children,
  ...rest
}: {
  href: string
  className?: string
  children: ReactNode
  'aria-label'?: string
  title?: string
}) {
  const router = useRouter()
  return (
    <a
      {...rest}
      className={className}
      href={href}
      onClick={e => {
        if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
        e.preventDefault()
        router.history.push(href)
      }}
    >
      {children}
    </a>
  )
}

/** The address of a session, by its key. */
export const sessionHref = (key: string): string => `/sessions/${encodeURIComponent(key)}`

/** The address of a standup, by its id. */
export const standupHref = (id: string): string => `/standups/${encodeURIComponent(id)}`
