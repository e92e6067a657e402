import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api, newKey, take } from '../api/client'
import { useTicking } from '../app/clock'
import { useZone } from '../app/config'
import { dayIn } from '../app/days'
import { limits as words } from '../texts/limits'
import { Button } from '../ui/Button'
import { say, sayFailed } from '../ui/toast'
import { suggested } from './headroom'
import { limitsQuery, type NewLimit } from './limitQueries'
import { askOf } from './period'
import { reportQuery } from './report'

/** The limits to start with, far above the usual day. They stop nothing. */
function firstLimits(perDay: string | undefined): [day: NewLimit, run: NewLimit] {
  const day = suggested(perDay)
  return [
    { scope: 'all', measure: 'usd', amount: String(day), window: 'day', action: 'tell' },
    { scope: 'all', measure: 'usd', amount: String(Math.max(1, day / 5)), window: 'run', action: 'tell' },
  ]
}

interface Props {
  className?: string
  /** The button that adds any other limit. */
  add?: ReactNode
}

/** Offers the limits to start with. */
export function FirstLimits({ className = 'items-start', add }: Props) {
  const cache = useQueryClient()
  const [keys] = useState(() => [newKey(), newKey()])
  const defaults = firstLimits(useForecast()?.per_day_usd)
  const create = useMutation({
    mutationFn: async () => {
      for (const [i, body] of defaults.entries())
        await take(api.POST('/api/v1/limits', { body, params: { header: { 'Idempotency-Key': keys[i] ?? newKey() } } }))
    },
    onSuccess: () => {
      say(words.defaultsAdded)
      return cache.invalidateQueries(limitsQuery)
    },
    onError: err => sayFailed(err, words.couldNot),
  })
  return (
    <div className={`flex flex-col gap-2 ${className}`}>
      <div className="flex flex-wrap gap-2">
        <Button busy={create.isPending} icon="plus" look={add ? 'primary' : 'plain'} onClick={() => create.mutate()}>
          {words.defaults(defaults[0].amount, defaults[1].amount)}
        </Button>
        {add}
      </div>
      <p className="text-soft text-xs">{words.defaultsHelp}</p>
    </div>
  )
}

/** The forecast of the month, with the average day. */
export function useForecast() {
  const zone = useZone() ?? 'UTC'
  const day = useTicking(now => dayIn(now, zone))
  return useQuery(reportQuery(askOf({ first: day, last: day }, zone), 'agent')).data?.forecast
}
