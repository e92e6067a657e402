import { type ComponentProps, useState } from 'react'
import { controls } from '../texts/controls'
import { readTime } from './dates'
import { Field } from './Field'
import { useValidity } from './useValidity'

type Props = Omit<ComponentProps<typeof Field>, 'type' | 'value' | 'onChange' | 'onBlur'> & {
  /** A time as HH:MM. */
  value: string
  onPick: (time: string) => void
}

/** A field for a time of day, in 24 hours. It also reads 9:30 pm. */
export function TimeField({ value, onPick, error, ...field }: Props) {
  const [typed, setTyped] = useState<string | null>(null)
  const [wrong, setWrong] = useState<string>()
  const input = useValidity(wrong)
  const commit = () => {
    if (typed === null) return
    const time = readTime(typed)
    setWrong(time === null ? controls.notTime : undefined)
    if (time === null) return
    setTyped(null)
    onPick(time)
  }
  return (
    <Field
      {...field}
      ref={input}
      autoComplete="off"
      error={error ?? wrong}
      inputMode="numeric"
      onBlur={commit}
      onChange={e => {
        setTyped(e.target.value)
        setWrong(undefined)
        // A time that is complete counts at once.
        if (/^\d\d:\d\d$/.test(e.target.value) && readTime(e.target.value)) onPick(e.target.value)
      }}
      onKeyDown={e => e.key === 'Enter' && commit()}
      value={typed ?? value}
    />
  )
}
