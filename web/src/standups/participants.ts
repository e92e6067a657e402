import type { Schemas } from '../api/client'

/** The participants of a team's standup, by what is known about them. */
export interface Participants {
  /** Participants with an account. */
  known: string[]
  /** Agents in the runtime without an account, who can't take part. */
  without: string[]
  /** IDs that match neither an agent nor an account. */
  nobody: string[]
  /** Whether the gateway was connected to list its agents. Otherwise unknown IDs can't be detected. */
  told: boolean
}

/** Sorts a team's participants. They may come from the default setting, which names agents that don't exist yet. */
export function participantsOf(
  participants: readonly string[],
  agents: readonly Pick<Schemas['Agent'], 'agent_id' | 'account'>[] | undefined,
  connected: boolean,
): Participants {
  const told = connected && agents !== undefined
  const all = new Map(agents?.map(a => [a.agent_id, a]))
  return {
    known: participants.filter(id => all.get(id)?.account),
    without: participants.filter(id => all.get(id)?.account === null),
    nobody: told ? participants.filter(id => !all.has(id)) : [],
    told,
  }
}
