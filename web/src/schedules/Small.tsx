import type { ReactNode } from 'react'
import { useAgentNames } from '../sessions/Bits'
import { AgentName as Named } from '../ui/Face'
import { Scroller } from '../ui/Scroller'

export const cell = 'py-1 pr-4 align-top whitespace-nowrap'

/** A small table that scrolls horizontally if it is too wide. */
export function Wide({ label, heads, children }: { label: string; heads: readonly string[]; children: ReactNode }) {
  return (
    <Scroller label={label}>
      <table className="w-full">
        <thead className="text-left text-soft text-xs">
          <tr>
            {heads.map(name => (
              <th key={name} className="whitespace-nowrap py-1 pr-4 font-normal" scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </Scroller>
  )
}

/** The face and name of an agent, or its ID if unknown. */
export const AgentName = ({ id }: { id: string }) => <Named id={id} name={useAgentNames().get(id) || id} />
