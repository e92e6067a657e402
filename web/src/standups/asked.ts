import type { Schemas } from '../api/client'

/** Who a standup of a team would ask, told apart by what is known of them. */
export interface Asked {
  /** Those who take part: an account of theirs is here. */
  known: string[]
  /** Agents of the runtime that have no account here, and so take no part. */
  without: string[]
  /** Names that the team gives, of which the runtime says that it has no such agent, and no account has it either. */
  nobody: string[]
  /** Whether the runtime was there to say which agents it has; without it nobody can tell a name from an agent. */
  told: boolean
}

/**
 * A team's participants may come from the settings, which name some before there
 * are any: a name alone is no agent of this installation.
 */
export function askedOf(
  participants: readonly string[],
  agents: readonly Pick<Schemas['Agent'], 'agent_id' | 'account'>[] | undefined,
  connected: boolean,
): Asked {
  const told = connected && agents !== undefined
  const all = new Map(agents?.map(a => [a.agent_id, a]))
  return {
    known: participants.filter(id => all.get(id)?.account),
    without: participants.filter(id => all.get(id)?.account === null),
    nobody: told ? participants.filter(id => !all.has(id)) : [],
    told,
  }
}
