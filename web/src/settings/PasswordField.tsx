import { useState } from 'react'
import { login as loginWords } from '../texts/login'
import { IconButton } from '../ui/Button'
import { Field } from '../ui/Field'

/** A password field with a show/hide button. */
export function PasswordField({
  label,
  name,
  autoComplete,
  error,
  help,
  required = true,
  value,
  onChange,
}: {
  label: string
  name: string
  autoComplete: string
  error?: string | undefined
  help?: string
  required?: boolean
  value?: string
  onChange?: (text: string) => void
}) {
  const [seen, setSeen] = useState(false)
  return (
    <Field
      after={
        <IconButton
          aria-pressed={seen}
          icon="eye"
          label={`${seen ? loginWords.hide : loginWords.reveal}: ${label}`}
          onClick={() => setSeen(!seen)}
        />
      }
      autoComplete={autoComplete}
      error={error}
      help={help}
      label={label}
      name={name}
      required={required}
      spellCheck={false}
      type={seen ? 'text' : 'password'}
      {...(onChange ? { value: value ?? '', onChange: e => onChange(e.target.value) } : {})}
    />
  )
}
