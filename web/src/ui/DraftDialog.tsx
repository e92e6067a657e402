import { type ReactNode, useState } from 'react'
import { Button } from './Button'
import { Dialog } from './Dialog'

interface Props {
  open: boolean
  words: { create: string; notCreated: string; notCreatedText: string; throwAway: string; writeOn: string }
  /** Returns whether the form has input that would be lost. */
  isBegun: () => boolean
  /** The selector of the field that gets the focus when the user continues. */
  field: string
  drop: () => void
  onClose: () => void
  wide?: boolean
  /** The form; `close` asks before it throws input away. */
  children: (close: () => void) => ReactNode
}

/** A dialog with a form for something new. Closing it asks first if there is input. */
export function DraftDialog({ open, words, isBegun, field, drop, onClose, wide = false, children }: Props) {
  const [asking, setAsking] = useState(false)
  if (asking && !open) setAsking(false) // created, or closed by navigation
  const throwAway = () => {
    drop()
    setAsking(false)
    onClose()
  }
  const close = () => (isBegun() ? setAsking(true) : throwAway())
  const writeOn = () => {
    setAsking(false)
    setTimeout(() => document.querySelector<HTMLElement>(`[role=dialog] ${field}`)?.focus())
  }
  return (
    <Dialog onClose={asking ? writeOn : close} open={open} title={asking ? words.notCreated : words.create} wide={wide}>
      <div hidden={asking}>{children(close)}</div>
      {asking && (
        <>
          <p>{words.notCreatedText}</p>
          <div className="mt-4 flex flex-wrap justify-end gap-2">
            <Button look="danger" onClick={throwAway}>
              {words.throwAway}
            </Button>
            <Button autoFocus look="primary" onClick={writeOn}>
              {words.writeOn}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  )
}
