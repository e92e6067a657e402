import type { ReactNode } from 'react'
import { useAgentNames } from '../sessions/Bits'
import { Scroller } from '../ui/Scroller'

export const head = 'text-left text-soft text-xs'
export const heading = 'py-1 pr-4 font-normal whitespace-nowrap'
export const cell = 'py-1 pr-4 align-top whitespace-nowrap'

/** A small table that scrolls horizontally if it is too wide. */
export function Wide({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Scroller label={label}>
      <table className="w-full">{children}</table>
    </Scroller>
  )
}

/** The name of an agent, or its ID if unknown. */
export const AgentName = ({ id }: { id: string }) => <bdi>{useAgentNames().get(id) || id}</bdi>
