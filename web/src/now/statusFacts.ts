import type { Schemas } from '../api/client'
import { dayIn } from '../app/days'
import { isNobody } from '../app/queries'
import { clock } from '../app/time'
import type { Told } from '../inbox/item'
import { countOf } from '../inbox/kinds'
import { now as nowWords } from '../texts/now'

const words = nowWords

type Agent = Schemas['Agent']

/** Returns whether the agent's activity is known. */
export const isKnown = (a: Agent): boolean => a.presence !== null && a.in_runtime !== null

/**
 * Returns how many agents are active. Unknown activity is counted separately; agents that wait for a person or repeat
 * themselves are told elsewhere. Empty if there is nothing else to tell.
 */
export function agentsFact(
  agents: readonly Agent[] | undefined,
  gateway: Schemas['GatewayStatus'] | undefined,
  toldElsewhere: (agent: string) => boolean = () => false,
): string {
  if (!agents) return words.unknownAgents
  if (isNobody(agents, gateway)) return words.noAgents
  const known = agents.filter(isKnown)
  const held = agents.filter(a => a.hold).length
  const holds = held > 0 ? [words.held(held)] : []
  if (known.length === 0) return [words.unknownAgents, ...holds].join(', ')
  const active = known.filter(a => a.presence?.state === 'active' && !toldElsewhere(a.agent_id))
  const stalled = active.filter(a => a.presence?.stalled).length
  const more = [
    ...(stalled > 0 ? [words.stalled(stalled)] : []),
    ...holds,
    ...(known.length < agents.length ? [words.notKnown(agents.length - known.length)] : []),
  ]
  const elsewhere = known.some(a => toldElsewhere(a.agent_id))
  if (active.length + more.length === 0 && elsewhere) return ''
  return words.active(active.length) + (more.length > 0 ? ` (${more.join(', ')})` : '')
}

/** Maximum number of kinds in the headline. */
const mostKinds = 4

/** A part of the headline: how many items, and the kinds that its link selects; all if there are none. */
export interface Needing {
  text: string
  kinds: readonly Told['kind'][]
}

/** Returns how many items need the user, and of which kinds: the most frequent first, else the most urgent. */
export function needingFacts(items: readonly Told[], more = false): Needing[] {
  if (items.length === 0) return [{ text: words.nothing, kinds: [] }]
  const counts = new Map<Told['kind'], number>()
  for (const i of items) counts.set(i.kind, (counts.get(i.kind) ?? 0) + 1)
  const sorted = [...counts].sort(([, a], [, b]) => b - a)
  // A single remaining kind takes no more room than its number.
  const shown = sorted.length === mostKinds + 1 ? sorted : sorted.slice(0, mostKinds)
  const rest = sorted.slice(shown.length)
  return [
    { text: words.needing(items.length, more), kinds: [] },
    ...shown.map(([kind, n]) => ({ text: countOf(kind, n), kinds: [kind] })),
    ...(rest.length > 0
      ? [{ text: words.moreKinds(rest.reduce((sum, [, n]) => sum + n, 0)), kinds: rest.map(([kind]) => kind) }]
      : []),
  ]
}

export const blockedFact = (n: number | null | undefined): string =>
  typeof n === 'number' ? words.blocked(n) : words.blockedUnknown

/** Returns when the last standup was, without the day if it was today. Defaults to the local time zone. */
export function standupFact(
  last: Schemas['StandupBrief'] | null | undefined,
  now: number,
  zone: string | undefined,
): string {
  if (last === undefined) return words.standupUnknown
  if (last === null) return words.noStandup
  const when = (at: string | null) => {
    if (at === null) return last.date
    if (dayIn(Date.parse(at), zone) === dayIn(now, zone)) return clock(at, zone)
    return now - Date.parse(at) < 6 * 86_400_000 ? clock(at, zone, 'weekday') : clock(at, zone, 'day')
  }
  if (last.status === 'running') return last.started_at ? words.standupRuns(when(last.started_at)) : words.standupOpen
  const at = when(last.completed_at)
  return last.status === 'error' ? words.standupFailed(at) : words.standup(at)
}
