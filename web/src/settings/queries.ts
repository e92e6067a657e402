import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, type Page, type Schemas, take, takePage } from '../api/client'
import { countOpenTasks } from '../app/countTasks'

export const pairingQuery = queryOptions({
  queryKey: ['gateway', 'pairing'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/agentrt/pairing', { signal })),
})

export const settingsQuery = queryOptions({
  queryKey: ['settings', 'service'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/settings', { signal })),
})

/** The doctor's last result. Runs again only on request. */
export const doctorQuery = queryOptions({
  queryKey: ['doctor'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/agentrt/doctor', { signal })),
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
})

export const keysQuery = (user: string) =>
  queryOptions({
    queryKey: ['settings', 'keys', user],
    queryFn: async ({ signal }): Promise<Schemas['AccountKey'][]> => {
      const path = { id: user }
      return take(api.GET('/api/v1/users/{id}/keys', { params: { path, query: { limit: 500 } }, signal }))
    },
  })

export const teamsQuery = queryOptions({
  queryKey: ['settings', 'teams'],
  queryFn: async ({ signal }): Promise<Schemas['StandupTeam'][]> => {
    // Archived teams are a separate list in the API; Settings shows both.
    const read = (archived: 'true' | 'false') =>
      take(api.GET('/api/v1/teams', { params: { query: { limit: 500, archived } }, signal }))
    return (await Promise.all([read('false'), read('true')])).flat()
  },
})

export const projectsQuery = queryOptions({
  queryKey: ['settings', 'projects'],
  queryFn: async ({ signal }): Promise<Schemas['TaskProject'][]> => {
    // Archived projects are a separate list in the API; Settings shows both.
    const read = (archived: 'true' | 'false') =>
      take(api.GET('/api/v1/projects', { params: { query: { limit: 500, archived } }, signal }))
    return (await Promise.all([read('false'), read('true')])).flat()
  },
})

/** The number of a project's tasks that aren't done, or null if the server doesn't say. */
export const openTasksQuery = (project: string) =>
  queryOptions({
    queryKey: ['tasks', 'count', project],
    queryFn: ({ signal }) => countOpenTasks({ project }, signal),
  })

export const retentionQuery = queryOptions({
  queryKey: ['settings', 'retention'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/retention', { signal })),
})

/** What a purge would remove with another number of days. */
export const dueQuery = (setting: string, days: number) =>
  queryOptions({
    queryKey: ['settings', 'retention', setting, days],
    queryFn: ({ signal }) => {
      const query = { setting: setting as 'ARCHIVE_AFTER_DAYS', days }
      return take(api.GET('/api/v1/retention/preview', { params: { query }, signal }))
    },
  })

/** The browsers and programs that are signed in to the user's account. */
export const devicesQuery = queryOptions({
  queryKey: ['settings', 'devices'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/auth/me/sessions', { params: { query: { limit: 100 } }, signal })),
})

/** The search parameters of the audit page. */
export interface AuditFilters {
  kind?: string | undefined
  actor?: string | undefined
  since?: string | undefined
  until?: string | undefined
}

/** Returns the start of a local day as a timestamp, or undefined. */
function midnight(day: string | undefined, later: number): string | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day ?? '') ? new Date(`${day}T00:00:00`) : null
  if (!at || Number.isNaN(at.getTime())) return undefined
  at.setDate(at.getDate() + later)
  return at.toISOString()
}

/** Converts the filters to API parameters. Both days are inclusive. */
export function auditParams(f: AuditFilters) {
  const since = midnight(f.since, 0)
  const until = midnight(f.until, 1)
  return {
    ...(f.kind ? { kind: [f.kind] } : {}),
    ...(f.actor ? { actor: f.actor } : {}),
    ...(since ? { since } : {}),
    ...(until ? { until } : {}),
  }
}

export const auditQuery = (f: AuditFilters) =>
  infiniteQueryOptions({
    queryKey: ['settings', 'audit', f],
    queryFn: ({ pageParam, signal }): Promise<Page<Schemas['Event']>> => {
      const query = { limit: 100, ...auditParams(f), ...(pageParam ? { cursor: pageParam } : {}) }
      return takePage<Schemas['Event']>(api.GET('/api/v1/audit', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: last => last.next,
  })

/** The three health endpoints, queried independently. */
export const healthQuery = queryOptions({
  queryKey: ['settings', 'health'],
  queryFn: async ({ signal }) => {
    const answer = await take(api.GET('/health', { signal }))
    return { ...answer, readAt: Date.now() }
  },
  retry: false,
})
export const readyQuery = queryOptions({
  queryKey: ['settings', 'ready'],
  queryFn: ({ signal }) => take(api.GET('/readyz', { signal })),
  retry: false,
})

/** What the server noticed about its surroundings; only for the owner and admins. */
export const warningsQuery = queryOptions({
  queryKey: ['settings', 'warnings'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/warnings', { signal })),
  retry: false,
})

/** The runtime's jobs, to find the standup job in First steps. */
export const jobsQuery = queryOptions({
  queryKey: ['settings', 'jobs'],
  queryFn: ({ signal }) => takePage(api.GET('/api/v1/agentrt/jobs', { params: { query: { limit: 500 } }, signal })),
})
export const sessionsQuery = queryOptions({
  queryKey: ['settings', 'sessions'],
  queryFn: ({ signal }) => takePage(api.GET('/api/v1/agentrt/sessions', { params: { query: { limit: 500 } }, signal })),
})
export const scheduleQuery = queryOptions({
  queryKey: ['settings', 'schedule'],
  queryFn: ({ signal }) => take(api.GET('/api/v1/standups/schedule', { signal })),
})
