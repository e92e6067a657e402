import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import * as clock from '../app/clock'
import { addDays, dayIn } from '../app/days'
import { myZone, shortIn } from '../app/format'
import { schedules as scheduleTexts } from '../texts/schedules'
import { DayField } from '../ui/DayField'
import { Field, Select } from '../ui/Field'
import { TimeField } from '../ui/TimeField'
import { ZoneField } from '../ui/ZoneField'
import { instantIn } from '../ui/zones'
import { cronWords } from './cron'
import { forms, inForm, type Plan, planOf, type Stored, steps, storedOf } from './plan'
import { previewQuery } from './queries'

const words = scheduleTexts.times
const minutes = Array.from({ length: 60 }, (_, i) => i)
const week = [1, 2, 3, 4, 5, 6, 0]

interface Props extends Stored {
  zone: string
  /** Set if the job has a time zone, which can be changed but not removed. */
  zoned?: boolean
  /** Whether the job can be one that runs once. */
  onceToo?: boolean
  /** Why the server refused the schedule or its zone. */
  errors: { expr?: string | undefined; zone?: string | undefined }
  onChange: (next: Stored & { zone: string }) => void
  /** A field beside the time zone. */
  children?: ReactNode
}

/** The fields for when a job runs, with the schedule in words and its next runs. */
export function Times({ expr, once, zone, zoned = false, onceToo = false, errors, onChange, children }: Props) {
  const [{ of, plan }, setPlan] = useState(() => ({ of: `${expr}/${once}`, plan: planOf({ expr, once }) }))
  if (of !== `${expr}/${once}`) setPlan({ of: `${expr}/${once}`, plan: planOf({ expr, once }, plan) })
  const set = (next: Plan) => {
    const to = storedOf(next)
    setPlan({ of: `${to.expr}/${to.once}`, plan: next })
    onChange({ ...to, zone })
  }
  const asked = useQuery(previewQuery(plan.form === 'once' ? '' : expr, zone))
  const at = once && instantIn(once, zone || myZone())
  const passed = at && Date.parse(at) <= clock.now()
  const wrong = passed ? words.passed : (plan.form !== 'once' && asked.data?.expr_invalid) || undefined
  const today = dayIn(clock.now(), zone || undefined)
  return (
    <div className="flex flex-col gap-3">
      <div className="grid grid-cols-1 gap-3 min-[26rem]:grid-cols-2">
        <Select
          choices={forms.filter(f => f !== 'once' || onceToo).map(f => ({ value: f, label: words.forms[f] }))}
          label={words.form}
          onChange={e => set(inForm(plan, forms.find(f => f === e.target.value) ?? 'cron', addDays(today, 1)))}
          value={plan.form}
        />
        <FormFields error={useErrorOf(expr, errors.expr) ?? wrong} of={plan} set={set} today={today} />
        {plan.form === 'weekly' && <Weekdays days={plan.days} onChange={days => set({ ...plan, days })} />}
        <ZoneField
          className={children ? '' : 'col-span-full'}
          error={useErrorOf(zone, errors.zone) ?? (asked.data?.tz_invalid || undefined)}
          label={scheduleTexts.fields.zone}
          onPick={next => onChange({ expr, once, zone: next })}
          required={zoned || plan.form === 'once'}
          value={zone}
        />
        {children}
      </div>
      {!wrong && <Said next={at ? [at] : (asked.data?.next_runs ?? [])} of={{ expr, once }} zone={zone} />}
    </div>
  )
}

/** Returns the server's error until the value that it was about is changed. */
export function useErrorOf(value: string, error: string | undefined): string | undefined {
  const [about, setAbout] = useState({ value, error })
  if (error !== about.error) setAbout({ value, error })
  return value === about.value ? error : undefined
}

interface FormProps {
  of: Plan
  set: (next: Plan) => void
  error: string | undefined
  today: string
}

/** The fields of one form. */
function FormFields({ of: p, set, error, today }: FormProps) {
  const time = (
    <TimeField error={error} label={words.time} onPick={t => set({ ...p, time: t })} required value={p.time} />
  )
  switch (p.form) {
    case 'daily':
    case 'weekdays':
    case 'weekly':
      return time
    case 'once':
      return (
        <div className="grid grid-cols-2 gap-3">
          <DayField label={words.day} min={today} onPick={day => day && set({ ...p, day })} required value={p.day} />
          {time}
        </div>
      )
    case 'hours':
    case 'minutes':
      return (
        <div className="grid grid-cols-2 gap-3">
          <Select
            choices={steps[p.form].map(n => ({ value: String(n), label: words.every(n, p.form === 'hours') }))}
            label={words.interval}
            onChange={e => set({ ...p, every: Number(e.target.value) })}
            value={String(p.every)}
          />
          {p.form === 'hours' && (
            <Select
              choices={minutes.map(n => ({ value: String(n), label: `:${String(n).padStart(2, '0')}` }))}
              label={words.minute}
              onChange={e => set({ ...p, minute: Number(e.target.value) })}
              value={String(p.minute)}
            />
          )}
        </div>
      )
    case 'cron':
      return (
        <Field
          autoComplete="off"
          error={error}
          help={words.cronHelp}
          label={words.expr}
          maxLength={500}
          onChange={e => set({ ...p, expr: e.target.value })}
          required
          spellCheck={false}
          value={p.expr}
        />
      )
  }
}

/** The weekdays, of which at least one stays chosen. */
function Weekdays({ days, onChange }: { days: readonly number[]; onChange: (days: number[]) => void }) {
  return (
    <fieldset className="col-span-full flex flex-wrap gap-1">
      <legend className="mb-1 font-medium text-soft text-xs">{words.days}</legend>
      {week.map(d => {
        const on = days.includes(d)
        const next = on ? days.filter(other => other !== d) : [...days, d].sort((a, b) => a - b)
        return (
          <button
            key={d}
            aria-label={scheduleTexts.weekdays[d]}
            aria-pressed={on}
            className={`h-8 min-w-11 rounded-md border px-2 pointer-coarse:h-10 ${on ? 'border-accent bg-accent-tint font-medium text-accent' : 'border-line-strong text-soft hover:bg-hover'}`}
            onClick={() => next.length > 0 && onChange(next)}
            type="button"
          >
            {scheduleTexts.weekdays[d]?.slice(0, 3)}
          </button>
        )
      })}
    </fieldset>
  )
}

/** The schedule in words, and its next runs in the local time zone. */
function Said({ of: s, next, zone }: { of: Stored; next: readonly string[]; zone: string }) {
  const mine = myZone()
  const said = s.once ? words.once : cronWords(s.expr)
  return (
    <div aria-live="polite" className="rounded-md bg-panel px-3 py-2">
      <p>
        <span className="font-medium">{said ? words.runs(said) : words.custom}</span>
        {zone && zone !== mine && <span className="text-soft"> {words.inZone(zone)}</span>}
      </p>
      {next.length > 0 && (
        <>
          <p className="mt-1 text-soft text-xs">{zone && zone !== mine ? words.nextMine(mine) : words.next}</p>
          <ul className="flex flex-wrap gap-x-4 tabular-nums">
            {next.slice(0, 2).map(at => (
              <li key={at}>{shortIn(at)}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
