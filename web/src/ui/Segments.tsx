import { buttonClass } from './Button'

/** A segmented control. */
export function Segments<T extends string>({
  label,
  choices,
  value,
  onChange,
}: {
  label: string
  choices: readonly { value: T; label: string }[]
  value: T
  onChange: (value: T) => void
}) {
  return (
    <fieldset className="flex rounded-md border border-line-strong">
      <legend className="sr-only">{label}</legend>
      {choices.map(c => (
        <button
          key={c.value}
          aria-pressed={c.value === value}
          className={buttonClass(
            'quiet',
            `h-[calc(2rem-2px)]! pointer-coarse:h-[calc(2.5rem-2px)]! px-2! ${c.value === value ? 'bg-accent-tint text-accent! font-medium' : ''}`,
          )}
          onClick={() => onChange(c.value)}
          type="button"
        >
          {c.label}
        </button>
      ))}
    </fieldset>
  )
}
