import { useRouter } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/** A client-side link to an address given as a string. */
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

/** Returns the address of a session. */
export const sessionHref = (key: string): string => `/sessions/${encodeURIComponent(key)}`

/** Returns the address of a standup. */
export const standupHref = (id: string): string => `/standups/${encodeURIComponent(id)}`
