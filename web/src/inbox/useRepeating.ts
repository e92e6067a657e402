import { useMemo } from 'react'
import { plainText } from '../ui/plainText'
import { agentOf } from './item'
import { useFitting } from './useItems'

const filters = { kind: 'loop', state: 'open,acked,snoozed' }

/** Returns how the runs that repeat themselves do so, by the keys of their sessions. */
export function useRepeatingSessions(): ReadonlyMap<string, string> {
  const { fitting } = useFitting(filters)
  return useMemo(() => new Map(fitting?.map(i => [i.subject.id, plainText(i.detail ?? '')])), [fitting])
}

/** Returns the IDs of the agents with a run that repeats itself. */
export function useRepeating(): ReadonlySet<string> {
  const sessions = useRepeatingSessions()
  return useMemo(() => new Set(Array.from(sessions.keys(), agentOf)), [sessions])
}
