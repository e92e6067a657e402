import { type ComponentProps, useRef, useState } from 'react'
import { dayIn, isDay } from '../app/days'
import { lazyPart } from '../app/lazy'
import { controls } from '../texts/controls'
import { IconButton } from './Button'
import { dayText, readDay } from './dates'
import { Field } from './Field'
import { useValidity } from './useValidity'

const Calendar = lazyPart(() => import('./Calendar'), 'Calendar')
const soon = (): void => void Calendar.load().catch(() => undefined)

type Props = Omit<ComponentProps<typeof Field>, 'type' | 'value' | 'onChange' | 'onBlur' | 'after' | 'min' | 'max'> & {
  /** A day as YYYY-MM-DD, or empty. */
  value: string
  /** Called with a complete day, or undefined when the field was cleared. */
  onPick: (day: string | undefined) => void
  min?: string
  max?: string
}

/** A date field: a day is typed, such as "2 Dec", or chosen in a calendar. */
export function DayField({ value, onPick, min = '2000-01-01', max = '9999-12-31', error, ...field }: Props) {
  const box = useRef<HTMLSpanElement>(null)
  const [open, setOpen] = useState(false)
  const { typed, wrong, type, pick, commit } = useTyped({ value, onPick, min, max, required: field.required })
  const input = useValidity(wrong)
  return (
    <span ref={box} className={`block min-w-36 ${field.className ?? ''}`}>
      <Field
        {...field}
        ref={input}
        after={
          <IconButton
            aria-expanded={open}
            aria-haspopup="dialog"
            className="h-7! min-w-7! pointer-coarse:h-9! pointer-coarse:min-w-9!"
            disabled={field.disabled}
            icon="schedules"
            label={controls.chooseDay}
            onClick={() => setOpen(!open)}
            onFocus={soon}
            onPointerEnter={soon}
          />
        }
        autoComplete="off"
        className=""
        error={error ?? wrong}
        onBlur={commit}
        onChange={e => type(e.target.value)}
        onKeyDown={e => {
          if (e.key === 'Enter') commit()
          if (e.key !== 'ArrowDown') return
          e.preventDefault()
          setOpen(true)
        }}
        placeholder={field.placeholder ?? controls.noDay}
        spellCheck={false}
        value={typed ?? dayText(value)}
      />
      {open && box.current && (
        <Calendar
          anchor={box.current}
          clears={!field.required}
          label={field.label}
          max={max}
          min={min}
          onClose={() => setOpen(false)}
          onPick={pick}
          today={today()}
          value={value}
        />
      )}
    </span>
  )
}

const today = (): string => dayIn(Date.now(), undefined)

/** Keeps the text of a date field until it is a day. */
function useTyped({
  value,
  onPick,
  min = '',
  max = '',
  required,
}: Pick<Props, 'value' | 'onPick' | 'min' | 'max' | 'required'>) {
  const [typed, setTyped] = useState<string | null>(null)
  const [wrong, setWrong] = useState<string>()
  const pick = (day: string | undefined) => {
    setTyped(null)
    setWrong(undefined)
    if (day !== (value || undefined)) onPick(day)
  }
  const type = (text: string) => {
    setTyped(text)
    setWrong(undefined)
    // A day that is complete counts at once.
    if (isDay(text) && text >= min && text <= max && text !== value) onPick(text)
  }
  const commit = () => {
    if (typed === null) return
    const day = readDay(typed, today())
    if (typed.trim() === '' && !required) pick(undefined)
    else if (day === null) setWrong(controls.notDay)
    else if (day < min) setWrong(controls.dayFrom(dayText(min)))
    else if (day > max) setWrong(controls.dayTo(dayText(max)))
    else pick(day)
  }
  return { typed, wrong, type, pick, commit }
}
