import { useQueryClient } from '@tanstack/react-query'
import { configQuery } from '../app/config'
import { moments } from '../app/format'

/**
 * A time of day, as a page writes it in the zone of whoever looks. The moment in their zone and in the service's, with
 * the names of both, is behind it.
 */
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
