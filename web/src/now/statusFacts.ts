import type { Schemas } from '../api/client'
import { dayIn } from '../app/days'
import { isNobody } from '../app/queries'
import { now as nowWords } from '../texts/now'
import { clock } from './time'

const words = nowWords

type Agent = Schemas['Agent']

/** Returns whether the agent's activity is known. */
export const isKnown = (a: Agent): boolean => a.presence !== null && a.in_runtime !== null

/** Returns how many agents are active. Agents with unknown activity are counted separately. */
export function agentsFact(
  agents: readonly Agent[] | undefined,
  gateway: Schemas['GatewayStatus'] | undefined,
): string {
  if (!agents) return words.unknownAgents
  if (isNobody(agents, gateway)) return words.noAgents
  const known = agents.filter(isKnown)
  if (known.length === 0) return words.unknownAgents
  const active = known.filter(a => a.presence?.state === 'active')
  const stalled = active.filter(a => a.presence?.stalled).length
  const more = [
    ...(stalled > 0 ? [words.stalled(stalled)] : []),
    ...(known.length < agents.length ? [words.notKnown(agents.length - known.length)] : []),
  ]
  return words.active(active.length) + (more.length > 0 ? ` (${more.join(', ')})` : '')
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
