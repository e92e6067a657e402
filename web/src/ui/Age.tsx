import { useQueryClient } from '@tanstack/react-query'
import { useTicking } from '../app/clock'
import { configQuery } from '../app/config'
import { age, moments } from '../app/format'

/**
 * How long ago a moment was, updated as time passes. The tooltip with the exact time is computed only on hover, because
 * a page may have hundreds of these.
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
