import { api } from '../api/client'
import type { paths } from '../api/schema'

type Query = NonNullable<paths['/api/v1/tasks']['get']['parameters']['query']>

/** The statuses of tasks that are not done. */
const open: Exclude<Query['status'], undefined> = ['backlog', 'todo', 'in_progress', 'review']

/** Returns how many tasks that aren't done match a filter, or null if the server doesn't say. */
export async function countOpenTasks(filter: Query, signal: AbortSignal): Promise<number | null> {
  const query = { ...filter, status: open, limit: 1, total: true }
  const { response } = await api.GET('/api/v1/tasks', { params: { query }, signal })
  const total = Number(response.headers.get('X-Total-Count') ?? Number.NaN)
  return Number.isNaN(total) ? null : total
}
