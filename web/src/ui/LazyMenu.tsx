import { cloneElement, type MouseEvent, type ReactElement, useState } from 'react'
import { lazyModule } from '../app/lazy'
import { texts } from '../texts'
import type { Menu, MenuProps } from './Menu'
import { say } from './toast'

// The menu code is as large as the rest of the layout, and isn't needed in the first second.
const load = lazyModule(() => import('./Menu'))
/** Starts loading the menu. After a failure, the next use tries again. */
const soon = (): void => void load().catch(() => undefined)

const sayAway = (): void => say(texts.app.notLoaded.part)

type Pressed = { onClick?: (e: MouseEvent) => void; onPointerEnter?: () => void; onFocus?: () => void }

/** A `Menu` for the layout whose code loads on hover or focus. */
export function LazyMenu({ trigger, ...rest }: MenuProps) {
  const [Loaded, setLoaded] = useState<typeof Menu | null>(null)
  if (Loaded) return <Loaded {...rest} open trigger={trigger} />
  return cloneElement(trigger as ReactElement<Pressed & { 'aria-haspopup': 'menu'; 'aria-expanded': false }>, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: soon,
    onFocus: soon,
    onClick: () => void load().then(module => setLoaded(() => module.Menu), sayAway),
  })
}
