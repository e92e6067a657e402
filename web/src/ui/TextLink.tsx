import { useRouter } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { home } from '../app/base'

/** A client-side link to a page, given as a path such as `/tasks?task=TASK-1`. */
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
      href={home + href}
      onClick={e => {
        if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
        e.preventDefault()
        router.history.push(home + href)
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
