import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import { oneQuery } from '../tasks/queries'
import { keysIn, titlesOf } from './decisions'
import type { Standup } from './standup'

/** The most titles that are read for one standup. */
const most = 12

/** Returns the titles of the tasks that a standup's summary and blockers name, by key. */
export function useTitles(s: Standup): ReadonlyMap<string, string> {
  const known = useMemo(() => titlesOf(s), [s])
  const wanted = [...keysIn(s.summary ?? ''), ...s.blockers.flatMap(b => b.task ?? [])]
  const missing = [...new Set(wanted)].filter(k => !known.has(k)).slice(0, most)
  const read = useQueries({ queries: missing.map(key => ({ ...oneQuery(key), retry: false })) })
  return new Map([...known, ...read.flatMap(q => (q.data ? [[q.data.key, q.data.title] as const] : []))])
}
