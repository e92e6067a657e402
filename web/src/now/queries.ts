import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, nextCursor, take, takePage } from '../api/client'
import * as clock from '../app/clock'
import { addDays } from '../app/days'
import { activityKinds } from './activityKinds'
import { turning } from './failures'
import { reach, type Slot } from './timelineSlots'

const hour = 3_600_000

/** The runtime's sessions, active ones first. Fails with 503 or 504 while the gateway is offline. */
export const sessionsQuery = queryOptions({
  queryKey: ['now', 'sessions'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/agentrt/sessions', { params: { query: { limit: 200 } }, signal })),
})

/** The number of blocked tasks that aren't done, or null if the server doesn't send it. */
export const blockedQuery = queryOptions({
  queryKey: ['now', 'blocked'],
  queryFn: async ({ signal }): Promise<number | null> => {
    const status = ['backlog', 'todo', 'in_progress', 'review'] as ('backlog' | 'todo' | 'in_progress' | 'review')[]
    const query = { blocked: 'true' as const, status, limit: 1, total: true }
    const { response } = await api.GET('/api/v1/tasks', { params: { query }, signal })
    const total = Number(response.headers.get('X-Total-Count') ?? Number.NaN)
    return Number.isNaN(total) ? null : total
  },
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

/** The cost of the same weekday a week ago. */
export const weekQuery = (day: string | null) =>
  queryOptions({
    queryKey: ['now', 'week', day],
    queryFn: ({ signal }) => {
      const query = { from: addDays(day ?? '', -7), to: addDays(day ?? '', -6), group: 'hour' as const }
      return take(api.GET('/api/v1/usage', { params: { query }, signal }))
    },
    enabled: day !== null,
    staleTime: hour,
  })

/** The cost of the last hour by agent, refetched when the ledger grows. */
export const burnQuery = queryOptions({
  queryKey: ['usage', 'burn'],
  queryFn: ({ signal }) => {
    const from = new Date(clock.now() - hour).toISOString()
    return take(api.GET('/api/v1/usage', { params: { query: { from, group: 'agent' } }, signal }))
  },
})

/** Maximum number of runs on the timeline. */
export const mostSlots = 2000

/** The past and upcoming runs around an hour. */
export const slotsQuery = (around: number) =>
  queryOptions({
    queryKey: ['now', 'slots', around],
    queryFn: async ({ signal }): Promise<{ slots: Slot[]; cut: boolean }> => {
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
      return { slots, cut: cursor !== null }
    },
    placeholderData: keepPreviousData,
  })

/** The latest runs of a job, to see whether it succeeded later. Refetched with the slots. */
export const runsQuery = (job: string) =>
  queryOptions({
    queryKey: ['now', 'slots', 'runs', job],
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/agentrt/jobs/{id}/runs', { params: { path: { id: job }, query: { limit: 20 } }, signal })),
  })

/** The inbox events of the last 24 hours, newest first, and whether there are more. */
export const failuresQuery = queryOptions({
  queryKey: ['now', 'failures'],
  queryFn: async ({ signal }) => {
    const since = new Date(clock.now() - 24 * hour).toISOString()
    const query = { subject_kind: 'inbox' as const, kind: turning, since, limit: 500 }
    const { data, response } = await api.GET('/api/v1/activity', { params: { query }, signal })
    return { events: data ?? [], cut: nextCursor(response) !== null }
  },
})

/** Archived sessions whose last run failed in the last 24 hours. Live sessions are archived once they are idle. */
export const failedRunsQuery = queryOptions({
  queryKey: ['now', 'failed-runs'],
  queryFn: async ({ signal }) => {
    const from = new Date(Date.now() - 24 * hour).toISOString()
    const pages = await Promise.all(
      ['failed', 'timeout'].map(status =>
        takePage(api.GET('/api/v1/sessions', { params: { query: { status, from, limit: 500 } }, signal })),
      ),
    )
    return { sessions: pages.flatMap(p => p.rows), cut: pages.some(p => p.next !== null) }
  },
  // Archiving a session, 30 s after its run, has no event.
  refetchInterval: 60_000,
})

/** The latest events of the activity card, newest first. */
export const activityQuery = queryOptions({
  queryKey: ['now', 'activity'],
  queryFn: ({ signal }) =>
    take(api.GET('/api/v1/activity', { params: { query: { kind: activityKinds, limit: 50 } }, signal })),
})
