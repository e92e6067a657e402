import { Tabs as Base } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'
import { Guarded } from './Guarded'

/** Calls a panel's function within the boundary around it. */
const Panel = ({ of }: { of: () => ReactNode }) => of()

/** Tabs. The selected one belongs in the URL. */
export function Tabs<T extends string>({
  value,
  onChange,
  tabs,
  label,
}: {
  value: T
  onChange: (value: T) => void
  tabs: readonly { id: T; label: string; count?: number; panel: () => ReactNode }[]
  label: string
}) {
  return (
    <Base.Root onValueChange={next => onChange(next as T)} value={value}>
      <Base.List aria-label={label} className="flex gap-4 border-line border-b">
        {tabs.map(tab => (
          <Base.Tab
            key={tab.id}
            className="-mb-px h-8 shrink-0 border-transparent border-b-2 text-soft text-sm outline-offset-[-2px] hover:text-ink data-active:border-accent data-active:text-ink pointer-coarse:h-10"
            value={tab.id}
          >
            {tab.label}
            {tab.count ? <span className="ml-1.5 text-soft text-xs">{tab.count}</span> : null}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map(tab => (
        <Base.Panel key={tab.id} className="pt-3" value={tab.id}>
          {tab.id === value && (
            <Guarded>
              <Panel of={tab.panel} />
            </Guarded>
          )}
        </Base.Panel>
      ))}
    </Base.Root>
  )
}
