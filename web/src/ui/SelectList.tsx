import { Select as Base } from '@base-ui/react/select'
import type { Choice } from './choices'
import { Icon } from './Icon'
import { isOfTrigger, popupClass } from './popup'

interface Props {
  anchor: HTMLElement
  id: string
  label: string
  choices: readonly Choice[]
  value: string
  onPick: (value: string) => void
  onClose: () => void
}

/** The open list of a select. */
export function SelectList({ anchor, id, label, choices, value, onPick, onClose }: Props) {
  return (
    <Base.Root
      id={id}
      modal={false}
      onOpenChange={(open, { event }) => !open && !isOfTrigger(anchor, event) && onClose()}
      onValueChange={next => next !== null && onPick(next)}
      open
      value={value}
    >
      <Base.Portal>
        <Base.Positioner
          align="start"
          alignItemWithTrigger={false}
          anchor={anchor}
          className="z-50 outline-none"
          sideOffset={4}
        >
          <Base.Popup
            className={`${popupClass} max-h-(--available-height) min-w-(--anchor-width) max-w-(--available-width)`}
            finalFocus={() => anchor}
            onKeyDown={e => {
              if (e.key !== 'Escape' && e.key !== 'Tab') return
              // Closes only the list, not the dialog or panel around it.
              e.stopPropagation()
              onClose()
            }}
          >
            <Base.List aria-label={label}>
              {choices.map(c => (
                <Base.Item
                  key={c.value}
                  className="flex h-8 select-none items-center gap-2 pr-3 pl-2 outline-none data-highlighted:bg-hover pointer-coarse:h-10"
                  data-choice={c.value}
                  value={c.value}
                >
                  <span className="w-4 shrink-0 text-accent">{c.value === value && <Icon name="check" />}</span>
                  {c.mark}
                  <Base.ItemText className="truncate" render={<bdi />}>
                    {c.label}
                  </Base.ItemText>
                </Base.Item>
              ))}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
