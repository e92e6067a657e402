import { Popover as Base } from '@base-ui/react/popover'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { addDays } from '../app/days'
import { controls } from '../texts/controls'
import { Button, IconButton } from './Button'
import { addMonths, dayText, movedBy, weeksOf } from './dates'
import { isOfTrigger, popupClass } from './popup'

interface Props {
  anchor: HTMLElement
  label: string
  /** The chosen day, or empty. */
  value: string
  today: string
  min: string
  max: string
  /** Whether there may be no day. */
  clears: boolean
  onPick: (day: string | undefined) => void
  onClose: () => void
}

const monday = '2026-11-23'
const weekdays = Array.from({ length: 7 }, (_, i) => dayText(addDays(monday, i), 'full').split(/[ ,]/)[0] ?? '')

/** The calendar of a date field. */
export function Calendar({ anchor, label, clears, onPick, onClose, ...p }: Props) {
  const { value, today, min, max } = p
  const box = useRef<HTMLDivElement>(null)
  const opener = anchor.querySelector('button') ?? anchor
  const pick = (day: string | undefined) => {
    onPick(day)
    onClose()
  }
  return (
    <Base.Root onOpenChange={(open, { event }) => !open && !isOfTrigger(opener, event) && onClose()} open>
      <Base.Portal>
        <Base.Positioner align="start" anchor={anchor} className="z-50 outline-none" sideOffset={4}>
          <Base.Popup
            ref={box}
            aria-label={`${controls.chooseDay}: ${label}`}
            className={`${popupClass} p-2`}
            finalFocus={() => anchor.querySelector('input')}
            initialFocus={() => box.current?.querySelector<HTMLElement>('[data-day][tabindex="0"]') ?? true}
            onKeyDown={e => {
              if (e.key !== 'Escape') return
              // Closes only the calendar, not the dialog or panel around it.
              e.stopPropagation()
              onClose()
            }}
          >
            <Month {...p} onPick={pick} />
            <div className="flex justify-between gap-2 pt-1">
              <Button disabled={today < min || today > max} look="quiet" onClick={() => pick(today)}>
                {controls.today}
              </Button>
              {clears && value !== '' && (
                <Button look="quiet" onClick={() => pick(undefined)}>
                  {controls.clearDay}
                </Button>
              )}
            </div>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

type MonthProps = Pick<Props, 'value' | 'today' | 'min' | 'max' | 'onPick'>

/** The days of a month. The arrow keys move by days and weeks, Page Up and Page Down by months. */
function Month({ value, today, min, max, onPick }: MonthProps) {
  const within = (day: string) => (day < min ? min : day > max ? max : day)
  const [at, setAt] = useState(within(value || today))
  const grid = useRef<HTMLTableElement>(null)
  // Keys move the focus; the buttons for months keep it.
  const moved = useRef(false)
  useEffect(() => {
    if (moved.current) grid.current?.querySelector<HTMLElement>(`[data-day="${at}"]`)?.focus()
  }, [at])
  const go = (day: string, byKey = false) => {
    moved.current = byKey
    setAt(within(day))
  }
  const onKeyDown = (e: KeyboardEvent) => {
    const to = movedBy(e.key, at)
    if (to === null) return
    e.preventDefault()
    go(to, true)
  }
  const month = dayText(at, 'month')
  return (
    <>
      <div className="flex items-center justify-between gap-1 pb-1">
        <IconButton icon="left" label={controls.previousMonth} onClick={() => go(addMonths(at, -1))} />
        <p aria-live="polite" className="font-medium">
          {month}
        </p>
        <IconButton icon="right" label={controls.nextMonth} onClick={() => go(addMonths(at, 1))} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the keys move within it, as in a grid */}
      <table ref={grid} aria-label={month} onKeyDown={onKeyDown} role="grid">
        <thead>
          <tr>
            {weekdays.map(name => (
              <th key={name} abbr={name} className="pb-1 font-normal text-soft text-xs" scope="col">
                {name.slice(0, 2)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeksOf(at).map(week => (
            <tr key={week[0]}>
              {week.map(day => (
                <Day key={day} {...{ at, day, onPick, today, value }} disabled={day < min || day > max} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

interface DayProps extends Pick<Props, 'value' | 'today' | 'onPick'> {
  day: string
  /** The day in the tab order. */
  at: string
  disabled: boolean
}

function Day({ day, at, value, today, disabled, onPick }: DayProps) {
  const look =
    day === value
      ? 'bg-accent text-on-accent'
      : `${day.slice(0, 7) === at.slice(0, 7) ? 'text-ink' : 'text-soft'} hover:bg-hover ${day === today ? 'border border-line-strong' : ''}`
  return (
    // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the keys move within the grid
    <td aria-selected={day === value} className="p-0" role="gridcell">
      <button
        aria-current={day === today ? 'date' : undefined}
        aria-label={dayText(day, 'full')}
        className={`size-8 rounded-md disabled:opacity-40 pointer-coarse:size-10 ${look}`}
        data-day={day}
        disabled={disabled}
        onClick={() => onPick(day)}
        tabIndex={day === at ? 0 : -1}
        type="button"
      >
        {Number(day.slice(8))}
      </button>
    </td>
  )
}
