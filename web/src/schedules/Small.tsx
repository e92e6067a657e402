import type { ReactNode } from 'react'
import { useAgentNames } from '../sessions/Bits'
import { Scroller } from '../ui/Scroller'

export const head = 'text-left text-soft text-xs'
export const heading = 'py-1 pr-4 font-normal whitespace-nowrap'
export const cell = 'py-1 pr-4 align-top whitespace-nowrap'

/** A small table that is swiped where it is too wide. */
export function Wide({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Scroller label={label}>
      <table className="w-full">{children}</table>
    </Scroller>
  )
}

/** What an agent is called, or its id where nobody says. */
export const AgentName = ({ id }: { id: string }) => <bdi>{useAgentNames().get(id) || id}</bdi>
