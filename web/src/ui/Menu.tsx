import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement } from 'react'
import { Icon, type IconName } from './Icon'
import { popupClass } from './popup'

export interface MenuItem {
  id: string
  label: string
  icon?: IconName
  danger?: boolean
  checked?: boolean
  disabled?: boolean
  onSelect: () => void
}

export const menuClass = `${popupClass} max-h-[70vh] min-w-44`

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
      <Base.Portal>
        <Base.Positioner align={align} className="z-50 outline-none" sideOffset={4}>
          <Base.Popup className={menuClass}>
            <Groups of={groups} />
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
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
          className={`flex h-8 select-none items-center gap-2 px-3 outline-none data-disabled:opacity-50 data-highlighted:bg-hover pointer-coarse:h-10 ${item.danger ? 'text-danger' : ''}`}
          disabled={item.disabled ?? false}
          onClick={item.onSelect}
        >
          {item.icon ? <Icon name={item.icon} /> : <span className="w-4" />}
          <span className="grow">{item.label}</span>
          {item.checked && <Icon name="check" />}
        </Base.Item>
      ))}
    </Base.Group>
  ))
}
