import { cloneElement, type MouseEvent, type ReactElement, useState } from 'react'
import { tellPart } from '../app/parts'
import { texts } from '../texts'
import type { Menu, MenuProps } from './Menu'
import { say } from './Toast'

// What a menu is made of weighs as much as the rest of the frame, and nobody opens one in the first second.
let loaded: typeof Menu | null = null
const load = async (): Promise<typeof Menu> => {
  loaded ??= (await import('./Menu')).Menu
  return loaded
}
tellPart(load)
/** What cannot be loaded now is loaded when it is asked for once more. */
const soon = (): void => void load().catch(() => undefined)

const sayAway = (): void => say(texts.app.notLoaded.part)

type Pressed = { onClick?: (e: MouseEvent) => void; onPointerEnter?: () => void; onFocus?: () => void }

/** A `Menu` for the frame, whose parts come when somebody points at its button. */
export function MenuLater({ trigger, ...rest }: MenuProps) {
  const [Loaded, setLoaded] = useState<typeof Menu | null>(null)
  if (Loaded) return <Loaded {...rest} open trigger={trigger} />
  return cloneElement(trigger as ReactElement<Pressed & { 'aria-haspopup': 'menu'; 'aria-expanded': false }>, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: soon,
    onFocus: soon,
    onClick: () => void load().then(made => setLoaded(() => made), sayAway),
  })
}
