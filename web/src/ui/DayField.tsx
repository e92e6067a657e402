import { type ComponentProps, useState } from 'react'
import { Field } from './Field'

type Props = Omit<ComponentProps<typeof Field>, 'type' | 'value' | 'onChange' | 'onBlur'> & {
  /** A day as YYYY-MM-DD; empty for none. */
  value: string
  /** A whole day, or none when it was taken out. */
  onPick: (day: string | undefined) => void
}

/** A day to look at. A year that is typed is one of antiquity at its first digits: it counts from `min` on. */
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
        // Half a date reads as none, and is not a wish to have none.
        if (validity.valid && day !== value) onPick(day || undefined)
      }}
      type="date"
      value={typed ?? value}
    />
  )
}
