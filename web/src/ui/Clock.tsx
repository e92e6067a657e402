import { useQueryClient } from '@tanstack/react-query'
import { configQuery } from '../app/config'
import { moments, shortIn } from '../app/format'

interface Props {
  at: string
  /** A time zone of its own, such as that of a job. The tooltip has it instead of the server's. */
  zone?: string | undefined
  /** The text; by default, the day and the time. */
  children?: string
  className?: string
}

/** A time in the local time zone. The tooltip has the full time in the local zone and in the other one. */
export function Clock({ at, zone, children, className }: Props) {
  const cache = useQueryClient()
  return (
    <time
      className={className}
      dateTime={at}
      onPointerEnter={e => {
        const config = cache.getQueryData<{ timezone: string }>(configQuery.queryKey)
        e.currentTarget.title = moments(at, zone ?? config?.timezone)
      }}
    >
      {children ?? shortIn(at)}
    </time>
  )
}
