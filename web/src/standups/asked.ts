import type { Schemas } from '../api/client'

/** Who a standup of a team would ask, told apart by whether anybody knows of them. */
export interface Asked {
  /** Those that the runtime has, or an account. */
  known: string[]
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
  agents: readonly Pick<Schemas['Agent'], 'agent_id'>[] | undefined,
  connected: boolean,
): Asked {
  const told = connected && agents !== undefined
  const ids = new Set(agents?.map(a => a.agent_id))
  return {
    known: participants.filter(id => ids.has(id)),
    nobody: told ? participants.filter(id => !ids.has(id)) : [],
    told,
  }
}
