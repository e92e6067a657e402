import type { ReactNode, RefObject } from 'react'
import { texts } from '../texts'
import { Button } from './Button'

interface ActionsProps {
  /** The text of the button that submits. */
  submit: string
  busy?: boolean | undefined
  disabled?: boolean | undefined
  look?: 'primary' | 'danger'
  onCancel: () => void
  className?: string
  /** More buttons, between the two. */
  children?: ReactNode
}

/** The buttons at the end of a form. In a dialog they stay in view while the fields scroll. */
export function FormActions({ submit, look = 'primary', onCancel, className = '', children, ...rest }: ActionsProps) {
  return (
    <div
      className={`flex flex-wrap justify-end gap-2 in-[[role=dialog]]:sticky in-[[role=dialog]]:-bottom-4 in-[[role=dialog]]:-mx-4 in-[[role=dialog]]:-mb-4 in-[[role=dialog]]:border-line in-[[role=dialog]]:border-t in-[[role=dialog]]:bg-raised in-[[role=dialog]]:px-4 in-[[role=dialog]]:py-3 ${className}`}
    >
      <Button look="quiet" onClick={onCancel}>
        {texts.ui.cancel}
      </Button>
      {children}
      <Button {...rest} look={look} type="submit">
        {submit}
      </Button>
    </div>
  )
}

interface FormProps extends Partial<Omit<ActionsProps, 'className'>> {
  /** Called on submit with a function that returns the trimmed text of a field, and with all fields. */
  onSend: (text: (name: string) => string, form: FormData) => void
  className?: string
  ref?: RefObject<HTMLFormElement | null>
}

/** A form in a column. With `submit` and `onCancel`, it ends with these two buttons. */
export function SubmitForm({ onSend, className = 'gap-3', children, ref, submit, onCancel, ...rest }: FormProps) {
  return (
    <form
      ref={ref}
      className={`flex flex-col ${className}`}
      onSubmit={e => {
        e.preventDefault()
        const form = new FormData(e.currentTarget)
        onSend(name => String(form.get(name) ?? '').trim(), form)
      }}
    >
      {children}
      {submit && onCancel && <FormActions {...rest} onCancel={onCancel} submit={submit} />}
    </form>
  )
}
