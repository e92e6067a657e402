import { useWaiting } from '../approvals/useWaiting'
import { useRepeating } from '../inbox/useRepeating'
import { agents as texts } from '../texts/agents'
import { approvals } from '../texts/approvals'
import { State } from '../ui/State'
import type { Agent } from './agent'
import { wordOf } from './Bits'

const words = texts.presence

/** The number of agents that wait for people, and of the others in each status. */
export function StatusCounts({ of }: { of: readonly Agent[] }) {
  const asking = useWaiting()
  const repeats = useRepeating()
  const others = of.filter(a => !asking.has(a.agent_id))
  const waiting = of.length - others.length
  const repeating = others.filter(a => repeats.has(a.agent_id)).length
  const count = (word: ReturnType<typeof wordOf>) =>
    others.filter(a => !repeats.has(a.agent_id) && wordOf(a) === word).length
  const say = (n: number, word: string) => `${n} ${word.toLowerCase()}`
  const stalled = count('stalled')
  const unknown = count('unknown')
  const active = count('active')
  const idle = count('idle')
  const offline = count('offline')
  return (
    <p className="flex flex-wrap gap-x-3">
      {repeating > 0 && (
        <State icon="reload" tone="danger">
          {say(repeating, approvals.repeating)}
        </State>
      )}
      {waiting > 0 && (
        <State icon="clock" tone="attention">
          {texts.waiting(waiting)}
        </State>
      )}
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
