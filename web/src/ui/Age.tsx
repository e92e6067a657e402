import { useQueryClient } from '@tanstack/react-query'
import { useTicking } from '../app/clock'
import { configQuery } from '../app/config'
import { age, moments } from '../app/format'

/**
 * How long ago something was. It counts by itself. The moment in both zones is
 * behind it, and is only worked out when somebody points at it: there may be
 * hundreds of these.
 */
export function Age({ at, className = '' }: { at: string; className?: string }) {
  const text = useTicking(now => age(at, now))
  const cache = useQueryClient()
  return (
    <time
      className={`whitespace-nowrap ${className}`}
      dateTime={at}
      onPointerEnter={e => {
        const config = cache.getQueryData<{ timezone: string }>(configQuery.queryKey)
        e.currentTarget.title = moments(at, config?.timezone)
      }}
    >
      {text}
    </time>
  )
}
