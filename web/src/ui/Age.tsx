import { useQueryClient } from '@tanstack/react-query'
import { useTicking } from '../app/clock'
import { configQuery } from '../app/config'
import { age, moments } from '../app/format'
import { ui } from '../texts/ui'

interface Props {
  at: string
  /** What the age is of, at the beginning of the tooltip. */
  of?: string
  /** The word beside the age: `ago` for what happened, `for` for what lasts. */
  say?: keyof typeof ui.ages
  className?: string
}

/**
 * How long ago a moment was, updated as time passes. The tooltip with the exact time is computed only on hover, because
 * a page may have hundreds of these.
 */
export function Age({ at, of, say, className = '' }: Props) {
  const text = useTicking(now => {
    const bare = age(at, now)
    return say && Date.parse(at) <= now ? ui.ages[say](bare) : bare
  })
  const cache = useQueryClient()
  return (
    <time
      className={`whitespace-nowrap ${className}`}
      dateTime={at}
      onPointerEnter={e => {
        const config = cache.getQueryData<{ timezone: string }>(configQuery.queryKey)
        e.currentTarget.title = `${of ? `${of}: ` : ''}${moments(at, config?.timezone)}`
      }}
    >
      {text}
    </time>
  )
}
