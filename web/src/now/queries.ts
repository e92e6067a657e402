import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, take, takePage } from '../api/client'
import { countOpenTasks } from '../app/countTasks'
import { addDays } from '../app/days'
import { activityKinds } from './activityKinds'
import { reach, type Slot } from './timelineRows'

const minute = 60_000
const hour = 60 * minute

/** The number of blocked tasks that aren't done, or null if the server doesn't send it. */
export const blockedQuery = queryOptions({
  queryKey: ['now', 'blocked'],
  queryFn: ({ signal }) => countOpenTasks({ blocked: 'true' }, signal),
})

/** The latest standup of any team, or null. */
export const standupQuery = queryOptions({
  queryKey: ['now', 'standup'],
  queryFn: async ({ signal }) => {
    const query = { team: 'all', limit: 1 }
    const { rows } = await takePage(api.GET('/api/v1/standups', { params: { query }, signal }))
    return rows[0] ?? null
  },
})

/** Today's cost by agent and hour, refetched when the ledger grows. */
export const todayQuery = (day: string | null) =>
  queryOptions({
    queryKey: ['usage', 'now', day],
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/usage', { params: { query: { from: day ?? '', group: 'agent' } }, signal })),
    enabled: day !== null,
  })

/** The cost of the same weekday a week ago: of the whole day, or up to the end of a minute. */
export const weekQuery = (day: string | null, until?: number) =>
  queryOptions({
    queryKey: ['now', 'week', day, until ?? ''],
    queryFn: ({ signal }) => {
      const from = addDays(day ?? '', -7)
      const to = until === undefined ? addDays(from, 1) : new Date(until + minute - 1).toISOString()
      return take(api.GET('/api/v1/usage', { params: { query: { from, to, group: 'day' } }, signal }))
    },
    enabled: day !== null,
    staleTime: hour,
    ...(until === undefined ? {} : { placeholderData: keepPreviousData }),
  })

/** Maximum number of slots to load. */
const mostSlots = 1000

/** The past and upcoming scheduled runs around an hour. */
export const slotsQuery = (around: number) =>
  queryOptions({
    queryKey: ['now', 'slots', around],
    queryFn: async ({ signal }): Promise<{ slots: Slot[] }> => {
      const from = new Date(around - reach).toISOString()
      const to = new Date(around + reach + hour).toISOString()
      const slots: Slot[] = []
      let cursor: string | null = null
      do {
        const query: { from: string; to: string; limit: number; cursor?: string } = { from, to, limit: 500 }
        if (cursor) query.cursor = cursor
        const page: { rows: Slot[]; next: string | null } = await takePage<Slot>(
          api.GET('/api/v1/agentrt/slots', { params: { query }, signal }),
        )
        slots.push(...page.rows)
        cursor = page.next
      } while (cursor && slots.length < mostSlots)
      return { slots }
    },
    placeholderData: keepPreviousData,
  })

/** The latest events of the timeline, newest first. */
export const activityQuery = queryOptions({
  queryKey: ['now', 'activity'],
  queryFn: ({ signal }) =>
    take(api.GET('/api/v1/activity', { params: { query: { kind: activityKinds, limit: 50 } }, signal })),
})
