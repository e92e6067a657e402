import { Menu as Base } from '@base-ui/react/menu'
import { type ReactNode, useCallback, useState } from 'react'
import { IconButton } from './Button'
import { Groups, type MenuGroup, MenuPopup } from './Menu'

export type OpenMenu = (anchor: HTMLElement, groups: () => readonly MenuGroup[]) => void

/** One menu for many rows. Each row has only a button, and the menu opens at the pressed one. */
export function useSharedMenu(): [OpenMenu, ReactNode] {
  const [at, setAt] = useState<{ anchor: HTMLElement; groups: () => readonly MenuGroup[] } | null>(null)
  const [open, setOpen] = useState(false)
  const show = useCallback<OpenMenu>((anchor, groups) => {
    setAt({ anchor, groups })
    setOpen(true)
  }, [])
  const menu = at && (
    <Base.Root modal={false} onOpenChange={setOpen} open={open}>
      <MenuPopup align="end" anchor={at.anchor}>
        <Groups of={at.groups} />
      </MenuPopup>
    </Base.Root>
  )
  return [show, menu]
}

/** The menu button of a row. */
export function MenuButton({
  label,
  groups,
  onMenu,
}: {
  label: string
  groups: () => readonly MenuGroup[]
  onMenu: OpenMenu
}) {
  return (
    <IconButton
      aria-haspopup="menu"
      className="h-[24px]! min-w-[24px]! pointer-coarse:h-9! pointer-coarse:min-w-9!"
      icon="more"
      label={label}
      onClick={e => onMenu(e.currentTarget, groups)}
    />
  )
}
