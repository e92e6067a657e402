import type { ReactNode } from 'react'
import { useRepeating } from '../inbox/useRepeating'
import { approvals as words } from '../texts/approvals'
import { State } from '../ui/State'
import { TextLink } from '../ui/TextLink'
import { useWaiting } from './useWaiting'

/** What an agent needs a person for, with a link to its inbox item; for an agent that needs nobody, its usual status. */
export function WaitsMark({ agent, children }: { agent: string; children: ReactNode }) {
  const asked = useWaiting().get(agent)
  const repeats = useRepeating().has(agent)
  if (!asked && !repeats) return children
  return (
    <TextLink className="hover:underline" href={`/inbox?kind=${asked?.kind ?? 'loop'}`}>
      <State icon={asked ? 'clock' : 'reload'} tone={asked ? 'attention' : 'danger'}>
        {asked ? words.waitsFor[asked.kind] : words.repeating}
      </State>
    </TextLink>
  )
}
