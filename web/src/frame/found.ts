import type { Schemas } from '../api/client'
import { nameOf } from '../sessions/session'

export type Found = Schemas['SearchResult']

/** What a session that was found is called here; its title is its label or key, as the runtime has them. */
export function titleOf(s: Found): string {
  const agent = s.agent_id ?? ''
  const key = /^agent:/i.test(s.title) ? s.title : `agent:${agent}:${s.title.trim()}`
  return nameOf({ key, label: null, agent_id: agent })
}

/** Sessions of one title, as one row. */
export interface Fold {
  /** The one that was found first, which is the newest. */
  first: Found
  /** How many more were found with its title. */
  others: number
  agents: string[]
}

/** What was found in sessions, those of one title together: what runs each day has the same each time. */
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

/** What was found in the reports of one standup. */
export interface Reports {
  standup: string
  title: string
  at: string
  agents: string[]
}

/** The standups in whose reports something was found, in the order in which they were. */
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
