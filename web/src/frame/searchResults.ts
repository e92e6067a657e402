import type { Schemas } from '../api/client'
import { nameOf } from '../sessions/session'

export type Found = Schemas['SearchResult']

/** Returns the display name of a session. The server's title is its label or key. */
export function titleOf(s: Found): string {
  const agent = s.agent_id ?? ''
  const key = /^agent:/i.test(s.title) ? s.title : `agent:${agent}:${s.title.trim()}`
  return nameOf({ key, label: null, agent_id: agent })
}

/** Sessions with the same title, as one row. */
export interface Fold {
  /** The first result, which is the newest. */
  first: Found
  /** Number of further results with the same title. */
  others: number
  agents: string[]
}

/** Groups session results by title, because recurring sessions have the same title every day. */
export function fold(found: readonly Found[]): Fold[] {
  const folds = new Map<string, Fold>()
  for (const s of found) {
    if (s.session_id === null) continue
    const name = s.title.trim().toLowerCase()
    const known = folds.get(name)
    if (!known) {
      folds.set(name, { first: s, others: 0, agents: s.agent_id ? [s.agent_id] : [] })
      continue
    }
    known.others++
    if (s.agent_id && !known.agents.includes(s.agent_id)) known.agents.push(s.agent_id)
  }
  return [...folds.values()]
}

/** The results in the reports of one standup. */
export interface Reports {
  standup: string
  title: string
  at: string
  agents: string[]
}

/** Groups report results by standup. A standup is listed where its first result was. */
export function reportsOf(found: readonly Found[]): Reports[] {
  const standups = new Map<string, Reports>()
  for (const r of found) {
    if (r.standup_id === null) continue
    const known = standups.get(r.standup_id)
    const agents = r.agent_id ? [r.agent_id] : []
    if (known) known.agents.push(...agents)
    else standups.set(r.standup_id, { standup: r.standup_id, title: r.title, at: r.at, agents })
  }
  return [...standups.values()]
}
