import { hourOf, minuteOf, weekdaysOf } from './cron'

/** The forms in which a schedule is chosen. */
export const forms = ['daily', 'weekdays', 'weekly', 'hours', 'minutes', 'once', 'cron'] as const

/** A schedule as the form asks for it. Each form uses some of the fields; the others keep what was there. */
export interface Plan {
  form: (typeof forms)[number]
  /** A time of day: 09:00. */
  time: string
  /** Weekdays in ascending order; 0 is Sunday. */
  days: readonly number[]
  /** The interval, in the form's unit. */
  every: number
  /** The minute of the hour at which an interval of hours runs. */
  minute: number
  /** The day of a job that runs once. */
  day: string
  expr: string
}

/** A schedule as it is stored: an expression, or the local time of the only run, such as 2026-12-02T09:00. */
export interface Stored {
  expr: string
  once: string
}

/** The intervals that divide an hour or a day, so that all gaps are equal. */
export const steps = { minutes: [1, 2, 3, 5, 6, 10, 12, 15, 20, 30], hours: [1, 2, 3, 4, 6, 8, 12] } as const

const usual: Plan = { form: 'cron', time: '09:00', days: [1], every: 1, minute: 0, day: '', expr: '' }
const two = (n: number): string => String(n).padStart(2, '0')

/** Returns the interval of a field, such as 15 for * /15 without the space; 0 for anything else. */
const stepOf = (field: string): number => (field === '*' ? 1 : Number(/^\*\/(\d{1,2})$/.exec(field)?.[1] ?? 0))

/** Returns the form that a schedule fits, or "cron" if it fits none. Fields that it doesn't have stay as they were. */
export function planOf({ expr, once }: Stored, was: Plan = usual): Plan {
  if (once) return { ...was, form: 'once', day: once.slice(0, 10), time: once.slice(11), expr }
  const plan: Plan = { ...was, form: 'cron', expr }
  const [minute = '', hour = '', dom, month, dow = '', more] = expr.trim().split(/\s+/)
  if (dom !== '*' || month !== '*' || more !== undefined) return plan
  const at = minuteOf(minute)
  if (at === null) {
    const every = stepOf(minute)
    const fits = hour === '*' && dow === '*' && steps.minutes.some(n => n === every)
    return fits ? { ...plan, form: 'minutes', every } : plan
  }
  const every = stepOf(hour)
  if (every > 0) {
    const fits = dow === '*' && steps.hours.some(n => n === every)
    return fits ? { ...plan, form: 'hours', every, minute: at } : plan
  }
  const [h, days] = [hourOf(hour), weekdaysOf(dow)]
  if (h === null || !days) return plan
  const form = days.length === 7 ? 'daily' : days.join() === '1,2,3,4,5' ? 'weekdays' : 'weekly'
  return { ...plan, form, time: `${two(h)}:${two(at)}`, ...(form === 'weekly' ? { days } : {}) }
}

/** Returns what is stored for a form. */
export function storedOf(p: Plan): Stored {
  if (p.form === 'once') return { expr: p.expr, once: p.day && `${p.day}T${p.time}` }
  return { expr: exprOf(p), once: '' }
}

function exprOf(p: Plan): string {
  const [h, m] = p.time.split(':').map(Number)
  const on = (days: string) => `${m} ${h} * * ${days}`
  switch (p.form) {
    case 'daily':
      return on('*')
    case 'weekdays':
      return on('1-5')
    case 'weekly':
      return on(p.days.join())
    case 'hours':
      return `${p.minute} ${p.every === 1 ? '*' : `*/${p.every}`} * * *`
    case 'minutes':
      return `${p.every === 1 ? '*' : `*/${p.every}`} * * * *`
    default:
      return p.expr
  }
}

/** Returns the plan in another form, with an interval that the form has, or the day of a job that runs once. */
export function inForm(p: Plan, form: Plan['form'], day: string): Plan {
  const next = { ...p, form, expr: exprOf(p) }
  if (form === 'once') return { ...next, day: p.day || day }
  if (form === 'hours' || form === 'minutes') {
    const has: readonly number[] = steps[form]
    return has.includes(p.every) && p.form === form ? next : { ...next, every: form === 'hours' ? 4 : 15 }
  }
  return next
}
