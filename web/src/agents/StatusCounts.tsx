import { agents as agentTexts } from '../texts/agents'
import { State } from '../ui/State'
import type { Agent } from './agent'
import { wordOf } from './Bits'

const words = agentTexts.presence

/** The number of agents in each status. */
export function StatusCounts({ of }: { of: readonly Agent[] }) {
  const count = (word: ReturnType<typeof wordOf>) => of.filter(a => wordOf(a) === word).length
  const say = (n: number, word: string) => `${n} ${word.toLowerCase()}`
  const stalled = count('stalled')
  const unknown = count('unknown')
  const active = count('active')
  const idle = count('idle')
  const offline = count('offline')
  return (
    <p className="flex flex-wrap gap-x-3">
      {stalled > 0 && <State tone="attention">{say(stalled, words.stalled)}</State>}
      {active > 0 && <State tone="active">{say(active, words.active)}</State>}
      {idle > 0 && <State tone="idle">{say(idle, words.idle)}</State>}
      {offline > 0 && (
        <State icon="off" tone="danger">
          {say(offline, words.offline)}
        </State>
      )}
      {unknown > 0 && (
        <State icon="off" tone="idle">
          {say(unknown, words.unknown)}
        </State>
      )}
    </p>
  )
}
