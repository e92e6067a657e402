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
