import { useQueries, useQuery } from '@tanstack/react-query'
import { type Person, queries } from '../app/queries'
import { canonical } from '../sessions/liveSessions'
import { liveQuery, versionsQuery } from '../sessions/queries'
import { type Archived, partsOf, type Session } from '../sessions/session'
import { activeRunsQuery } from '../spend/activeRuns'
import type { Task } from './task'

type Told = { data: unknown }

/** Returns the session keys in a task's events. */
function named(events: readonly Told[]): string[] {
  return events.flatMap(e => {
    const data = e.data as { dispatch?: { session_key?: unknown }; changes?: { session_key?: unknown } } | null
    const change = data?.changes?.session_key
    const keys = [data?.dispatch?.session_key, ...(Array.isArray(change) ? change : [])]
    return keys.filter((k): k is string => typeof k === 'string' && k !== '')
  })
}

const own = (task: Task): string[] =>
  [task.session_key, task.dispatch?.session_key].filter((k): k is string => Boolean(k))

/** Returns the live sessions of a task, by their key or by its events. */
export function liveOf(task: Task, rows: readonly Session[], events: readonly Told[]): Session[] {
  const said = new Set([...own(task), ...named(events)].map(canonical))
  return rows.filter(s => partsOf(s.key).task === task.key || said.has(canonical(s.key)))
}

/** Returns the keys under which the archive may have sessions of a task. */
export function keysOf(task: Task, agent: string | null, live: readonly Session[], events: readonly Told[]): string[] {
  const usual = agent ? [`agent:${agent}:task:${task.key}`] : []
  return [...new Set([...own(task), ...named(events), ...live.map(s => s.key), ...usual].map(canonical))]
}

/** Returns the live sessions of a task; none while the gateway is away. */
function useLive(task: Task, events: readonly Told[]) {
  const gateway = useQuery(queries.gateway).data
  const connected = gateway?.state === 'connected'
  const live = useQuery({ ...liveQuery, enabled: connected })
  return { live: connected ? liveOf(task, live.data?.rows ?? [], events) : [], failed: Boolean(live.error), gateway }
}

/** Returns the live and archived sessions of a task, and whether some are missing. */
export function useTaskSessions(task: Task, people: ReadonlyMap<string, Person>, events: readonly Told[]) {
  const { live, failed, gateway } = useLive(task, events)
  const agent = (task.assignee_id && people.get(task.assignee_id)?.agent) || null
  const keys = keysOf(task, agent, live, events)
  const versions = useQueries({ queries: keys.map(key => versionsQuery(key)) })
  const archived = versions
    .flatMap(v => v.data ?? [])
    // Live sessions have more current data than their archived copies.
    .filter(a => !live.some(s => canonical(s.key) === canonical(a.key) && a.present))
  const sessions: (Session | Archived)[] = [...live, ...archived]
  return {
    sessions,
    isAway: gateway !== undefined && gateway.state !== 'connected',
    isPartial: failed || versions.some(v => v.error),
  }
}

/** Returns the run on a task that is in progress: its session and its usage so far, as far as they are known. */
export function useRun(task: Task) {
  const session = useLive(task, []).live.find(s => s.active)
  const usage = useQuery(activeRunsQuery).data?.runs.find(r => r.task_key === task.key)
  return { session, usage }
}
