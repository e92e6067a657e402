import { type ComponentProps, type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import { lazyPart } from '../app/lazy'
import { type Choice, choiceFor } from './choices'
import { Icon } from './Icon'

export type { Choice } from './choices'

const SelectList = lazyPart(() => import('./SelectList'), 'SelectList')
/** Starts loading the list. After a failure, opening it tries again. */
const soon = (): void => void SelectList.load().catch(() => undefined)

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
          className={`${inputClass} h-8 pointer-coarse:h-10 ${after ? 'pr-10 pointer-coarse:pr-12' : ''}`}
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

interface SelectProps extends FieldProps {
  choices: readonly Choice[]
  value?: string | undefined
  defaultValue?: string | undefined
  onChange?: ((e: { target: { value: string } }) => void) | undefined
  /** The name in a form. */
  name?: string | undefined
  required?: boolean | undefined
  disabled?: boolean | undefined
}

/** A select whose list loads when it is about to open. Letters choose while it is closed, as in a native one. */
export function Select({ choices, value, defaultValue, onChange, name, required, disabled, ...p }: SelectProps) {
  const id = useId()
  const trigger = useRef<HTMLButtonElement>(null)
  const [own, setOwn] = useState(defaultValue ?? choices[0]?.value ?? '')
  const [open, setOpen] = useState(false)
  const at = value ?? own
  const chosen = choices.find(c => c.value === at)
  const pick = (next: string) => {
    if (next === at) return
    setOwn(next)
    onChange?.({ target: { value: next } })
  }
  const onKeyDown = useClosedKeys(choices, at, pick, () => setOpen(true))
  return (
    <Wrapped id={id} {...p}>
      <span className="relative flex">
        <button
          ref={trigger}
          {...tied(id, p)}
          aria-controls={open ? `${id}-list` : undefined}
          aria-expanded={open}
          aria-haspopup="listbox"
          aria-required={required}
          className={`${inputClass} flex h-8 items-center gap-1.5 pr-1.5 text-left pointer-coarse:h-10`}
          data-value={at}
          disabled={disabled}
          onClick={() => setOpen(!open)}
          onFocus={soon}
          onKeyDown={onKeyDown}
          onPointerEnter={soon}
          role="combobox"
          type="button"
        >
          {chosen?.mark}
          <bdi className="min-w-0 grow truncate">{chosen?.label ?? at}</bdi>
          <Icon className="text-soft" name="chevron" />
        </button>
        {name && <FormValue name={name} onFocus={() => trigger.current?.focus()} required={required} value={at} />}
      </span>
      {open && trigger.current && (
        <SelectList
          anchor={trigger.current}
          choices={choices}
          id={id}
          label={p.label}
          onClose={() => setOpen(false)}
          onPick={pick}
          value={at}
        />
      )}
    </Wrapped>
  )
}

/** The value of a select in its form, which also reports a missing one. */
const FormValue = (p: { name: string; value: string; required: boolean | undefined; onFocus: () => void }) => (
  <input
    {...p}
    aria-hidden="true"
    className="pointer-events-none absolute inset-0 -z-10 opacity-0"
    onChange={() => undefined}
    tabIndex={-1}
  />
)

/** Returns the key handler of a closed select: arrows open it, and letters typed without a pause choose. */
function useClosedKeys(
  choices: readonly Choice[],
  value: string,
  pick: (value: string) => void,
  open: () => void,
): (e: KeyboardEvent) => void {
  const typed = useRef({ text: '', at: 0 })
  return e => {
    const arrow = e.key === 'ArrowDown' || e.key === 'ArrowUp'
    const letter = e.key.length === 1 && e.key !== ' ' && !e.altKey
    if (e.ctrlKey || e.metaKey || !(arrow || letter)) return
    e.preventDefault()
    if (arrow) return open()
    const before = e.timeStamp - typed.current.at < 500 ? typed.current.text : ''
    typed.current = { text: before + e.key, at: e.timeStamp }
    const next = choiceFor(choices, value, typed.current.text)
    if (next) pick(next.value)
  }
}
