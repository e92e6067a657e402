import { Popover } from '@base-ui/react/popover'
import type { ReactNode } from 'react'
import { Icon } from '../ui/Icon'

/** A small button that explains a number. */
export function Info({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Popover.Root>
      <Popover.Trigger
        aria-label={label}
        className="-my-1 inline-flex size-[24px] shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink"
        title={label}
      >
        <Icon className="size-3.5" name="info" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner align="start" className="z-50" collisionPadding={8} sideOffset={4}>
          <Popover.Popup
            aria-label={label}
            className="hairline flex w-72 max-w-[calc(100vw-1rem)] flex-col gap-2 rounded-md bg-raised p-3 text-ink text-sm shadow-raised"
          >
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}
