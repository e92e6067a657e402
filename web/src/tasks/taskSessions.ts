import { canonical } from '../sessions/liveSessions'
import { partsOf, type Session } from '../sessions/session'
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
