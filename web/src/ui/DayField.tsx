import { type ComponentProps, useState } from 'react'
import { Field } from './Field'

type Props = Omit<ComponentProps<typeof Field>, 'type' | 'value' | 'onChange' | 'onBlur'> & {
  /** A day as YYYY-MM-DD, or empty. */
  value: string
  /** Called with a complete day, or undefined when the field was cleared. */
  onPick: (day: string | undefined) => void
}

/** A date field. Days before `min` are ignored, because typing a year passes through years such as 0002. */
export function DayField({ value, onPick, min = '2000-01-01', max = '9999-12-31', ...field }: Props) {
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <Field
      {...field}
      max={max}
      min={min}
      onBlur={() => setTyped(null)}
      onChange={e => {
        const { value: day, validity } = e.target
        setTyped(day)
        // A partial date reads as empty, but does not clear the value.
        if (validity.valid && day !== value) onPick(day || undefined)
      }}
      type="date"
      value={typed ?? value}
    />
  )
}
