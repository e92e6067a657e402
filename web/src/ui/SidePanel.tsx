import { type ReactNode, useEffect, useRef } from 'react'
import { texts } from '../texts'
import { IconButton } from './Button'
import { Guarded } from './Guarded'

/** Returns whether a text field has input. Then Escape only leaves the field, and a second Escape closes the panel. */
const isWritten = (target: EventTarget): boolean =>
  (target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLInputElement && /^(text|search)$/.test(target.type))) &&
  target.value !== ''

interface Props {
  label: string
  width?: string
  header: ReactNode
  onClose: () => void
  /** Whether the panel has text fields whose input Escape must not lose. */
  writes?: boolean
  children: ReactNode
}

/** A panel beside a list, or a sheet over it on a narrow screen. It takes the focus, and Escape closes it. */
export function SidePanel({ label, width = 'lg:w-[30rem]', header, onClose, writes = false, children }: Props) {
  const ref = useRef<HTMLElement>(null)
  useEffect(() => {
    ref.current?.focus()
  }, [])
  return (
    <>
      {/* A pointer closes the sheet here; the keyboard has Escape and the button. */}
      <div aria-hidden="true" className="fixed inset-0 z-40 bg-shade lg:hidden" onClick={onClose} />
      <aside
        ref={ref}
        aria-label={label}
        className={`enter fixed inset-x-0 top-11 bottom-0 z-40 flex max-lg:rounded-t-lg max-lg:shadow-raised flex-col overflow-hidden bg-ground outline-none lg:static lg:z-auto ${width} lg:shrink-0 lg:border-line lg:border-l`}
        onKeyDown={e => {
          if (e.key !== 'Escape' || e.defaultPrevented || e.nativeEvent.isComposing) return
          e.stopPropagation()
          if (writes && isWritten(e.target)) ref.current?.focus()
          else onClose()
        }}
        tabIndex={-1}
      >
        <header className="flex h-10 shrink-0 items-center gap-2 border-line border-b pr-2 pl-4">
          <Guarded>{header}</Guarded>
          <IconButton icon="close" label={texts.ui.close} onClick={onClose} />
        </header>
        <div className="grow overflow-y-auto px-4 py-3">
          <Guarded>{children}</Guarded>
        </div>
      </aside>
    </>
  )
}
