import { type ComponentProps, type ReactNode, useId } from 'react'

export const inputClass =
  'w-full rounded-md border border-line-strong bg-raised px-2 text-sm text-ink aria-invalid:border-danger disabled:opacity-60'

interface FieldProps {
  label: string
  help?: ReactNode
  error?: string | undefined
  hideLabel?: boolean | undefined
  className?: string | undefined
}

/** A control with its label, help, and error, linked for screen readers. */
function Wrapped({
  id,
  label,
  help,
  error,
  hideLabel,
  className = '',
  children,
}: FieldProps & { id: string; children: ReactNode }) {
  return (
    <div className={`flex min-w-0 flex-col gap-1 ${className}`}>
      <label className={hideLabel ? 'sr-only' : 'font-medium text-soft text-xs'} htmlFor={id}>
        {label}
      </label>
      {children}
      {error ? (
        <p className="text-danger text-xs" id={`${id}-help`} role="alert">
          {error}
        </p>
      ) : help ? (
        <p className="text-soft text-xs" id={`${id}-help`}>
          {help}
        </p>
      ) : null}
    </div>
  )
}

const tied = (id: string, p: FieldProps) => ({
  id,
  'aria-invalid': p.error ? true : undefined,
  'aria-describedby': p.error || p.help ? `${id}-help` : undefined,
})

export function Field({
  label,
  help,
  error,
  hideLabel,
  className,
  after,
  ...input
}: FieldProps & Omit<ComponentProps<'input'>, 'className' | 'id'> & { after?: ReactNode }) {
  const id = useId()
  const p = { label, help, error, hideLabel, className }
  return (
    <Wrapped id={id} {...p}>
      <span className="relative flex">
        <input
          {...input}
          {...tied(id, p)}
          className={`${inputClass} h-8 pointer-coarse:h-10 ${after ? 'pr-10' : ''}`}
        />
        {after && <span className="absolute inset-y-0 right-0.5 flex items-center">{after}</span>}
      </span>
    </Wrapped>
  )
}

export function TextArea({
  label,
  help,
  error,
  hideLabel,
  className,
  ...input
}: FieldProps & Omit<ComponentProps<'textarea'>, 'className' | 'id'>) {
  const id = useId()
  const p = { label, help, error, hideLabel, className }
  return (
    <Wrapped id={id} {...p}>
      <textarea {...input} {...tied(id, p)} className={`${inputClass} min-h-16 resize-y py-1.5 leading-5`} />
    </Wrapped>
  )
}

export interface Choice {
  value: string
  label: string
}

/** A native select, which works on phones, by keyboard, and with screen readers. */
export function Select({
  label,
  help,
  error,
  hideLabel,
  className,
  choices,
  ...input
}: FieldProps & Omit<ComponentProps<'select'>, 'className' | 'id'> & { choices: readonly Choice[] }) {
  const id = useId()
  const p = { label, help, error, hideLabel, className }
  return (
    <Wrapped id={id} {...p}>
      <select {...input} {...tied(id, p)} className={`${inputClass} h-8 pointer-coarse:h-10`}>
        {choices.map(c => (
          <option key={c.value} value={c.value}>
            {c.label}
          </option>
        ))}
      </select>
    </Wrapped>
  )
}
