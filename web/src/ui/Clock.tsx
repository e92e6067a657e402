import { useQueryClient } from '@tanstack/react-query'
import { configQuery } from '../app/config'
import { moments } from '../app/format'

/** A time of day in the local time zone. The tooltip has the full time in the local and the server's time zone. */
export function Clock({ at, children, className }: { at: string; children: string; className?: string }) {
  const cache = useQueryClient()
  return (
    <time
      className={className}
      dateTime={at}
      onPointerEnter={e => {
        const config = cache.getQueryData<{ timezone: string }>(configQuery.queryKey)
        e.currentTarget.title = moments(at, config?.timezone)
      }}
    >
      {children}
    </time>
  )
}
