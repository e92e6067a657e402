import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'
import { Icon, type IconName } from './Icon'
import { popupClass } from './popup'

export interface MenuItem {
  id: string
  label: string
  /** What the item does, below its label. */
  help?: string
  icon?: IconName
  danger?: boolean
  checked?: boolean
  disabled?: boolean
  onSelect: () => void
}

export interface MenuGroup {
  label?: string
  items: readonly MenuItem[]
}

export interface MenuProps {
  trigger: ReactElement
  /** The items, or a function that computes them when the menu opens. */
  groups: readonly MenuGroup[] | (() => readonly MenuGroup[])
  align?: 'start' | 'end'
  /** Whether the menu is open when it mounts. */
  open?: boolean
}

/** A button with a menu. A line separates `groups`, which may have headings. */
export function Menu({ trigger, groups, align = 'end', open = false }: MenuProps) {
  return (
    <Base.Root defaultOpen={open} modal={false}>
      <Base.Trigger render={trigger} />
      <MenuPopup align={align}>
        <Groups of={groups} />
      </MenuPopup>
    </Base.Root>
  )
}

/** The popup of a menu: beside its button, or a sheet at the bottom of a phone. */
export function MenuPopup({
  anchor,
  align,
  children,
}: {
  /** The button, unless the menu has a trigger. */
  anchor?: HTMLElement
  align: 'start' | 'end'
  children: ReactNode
}) {
  return (
    <Base.Portal>
      <Base.Backdrop className="fixed inset-0 z-50 bg-shade md:hidden" />
      <Base.Positioner
        align={align}
        className="z-50 outline-none max-md:fixed! max-md:inset-x-0! max-md:top-auto! max-md:bottom-0! max-md:transform-none!"
        sideOffset={4}
        {...(anchor ? { anchor } : {})}
      >
        <Base.Popup
          className={`${popupClass} max-h-[70vh] min-w-44 max-md:rounded-b-none max-md:py-2 max-md:pb-[calc(0.5rem+env(safe-area-inset-bottom))]`}
          {...(anchor ? { finalFocus: () => anchor } : {})}
        >
          {children}
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  )
}

/** The items of an open menu. */
export function Groups({ of }: { of: readonly MenuGroup[] | (() => readonly MenuGroup[]) }) {
  const groups = typeof of === 'function' ? of() : of
  return groups.map((group, i) => (
    <Base.Group key={group.label ?? i} className={i > 0 ? 'mt-1 border-line border-t pt-1' : ''}>
      {group.label && <Base.GroupLabel className="px-3 py-1 text-soft text-xs">{group.label}</Base.GroupLabel>}
      {group.items.map(item => (
        <Base.Item
          key={item.id}
          className={`flex min-h-8 select-none items-center gap-2 px-3 outline-none data-disabled:opacity-50 data-highlighted:bg-hover max-md:min-h-11 pointer-coarse:min-h-11 ${item.danger ? 'text-danger' : ''}`}
          disabled={item.disabled ?? false}
          onClick={item.onSelect}
        >
          {item.icon ? <Icon name={item.icon} /> : <span className="w-4" />}
          <span className="grow">
            {item.label}
            {item.help && <span className="block pb-1 text-soft text-xs">{item.help}</span>}
          </span>
          {item.checked && <Icon name="check" />}
        </Base.Item>
      ))}
    </Base.Group>
  ))
}
