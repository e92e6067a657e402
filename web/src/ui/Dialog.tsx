import { Dialog as Base } from '@base-ui/react/dialog'
import { type ReactNode, useRef } from 'react'
import { texts } from '../texts'
import { IconButton } from './Button'
import { Guarded } from './Guarded'

const fades = 'transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0'

/** A modal dialog. A click outside doesn't close it, because that would lose input. */
export function Dialog({
  open,
  onClose,
  title,
  children,
  wide = false,
}: {
  open: boolean
  onClose: () => void
  title: string
  children: ReactNode
  wide?: boolean
}) {
  const popup = useRef<HTMLDivElement>(null)
  return (
    <Base.Root disablePointerDismissal open={open} onOpenChange={next => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={`fixed inset-0 bg-shade ${fades}`} />
        {/* Without a field that takes the focus, the dialog has it, and not the button that closes it. */}
        <Base.Popup
          ref={popup}
          initialFocus={() => !popup.current?.contains(document.activeElement) && popup.current}
          className={`outline-none ${fades} hairline shadow-raised fixed top-2 left-1/2 flex max-h-[calc(100dvh-16px)] w-[calc(100vw-16px)] sm:top-[10vh] sm:max-h-[80vh] -translate-x-1/2 flex-col overflow-hidden rounded-md bg-raised text-ink ${wide ? 'max-w-2xl' : 'max-w-md'}`}
        >
          <div className="flex items-center justify-between border-line border-b py-2 pr-2 pl-4">
            <Base.Title className="font-semibold text-base">{title}</Base.Title>
            <Base.Close render={<IconButton icon="close" label={texts.ui.close} />} />
          </div>
          <div className="scroll-pb-20 overflow-y-auto p-4">
            <Guarded>{children}</Guarded>
          </div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
