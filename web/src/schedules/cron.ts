import { schedules as scheduleTexts } from '../texts/schedules'

const words = scheduleTexts.cron

const two = (n: number): string => String(n).padStart(2, '0')
const isNumber = (text: string): boolean => /^\d{1,2}$/.test(text)
const names = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

/** Parses a field without steps, such as 1-5 or 8,12; null for anything else. */
function numbers(field: string, read: (text: string) => number | null): number[] | null {
  const all: number[] = []
  for (const part of field.split(',')) {
    const [from = '', to, more] = part.split('-')
    const a = read(from)
    const b = to === undefined ? a : read(to)
    if (a === null || b === null || more !== undefined || b < a) return null
    for (let n = a; n <= b; n++) all.push(n)
  }
  return all
}

const plain =
  (least: number, most: number) =>
  (text: string): number | null =>
    isNumber(text) && Number(text) >= least && Number(text) <= most ? Number(text) : null

function weekday(text: string): number | null {
  const at = names.indexOf(text.toLowerCase())
  return at >= 0 ? at : plain(0, 7)(text)
}

/** Returns the value of a field that is one minute, or null. */
export const minuteOf = plain(0, 59)
/** Returns the value of a field that is one hour, or null. */
export const hourOf = plain(0, 23)

/** Returns the weekdays of a field in ascending order, 0 for Sunday, or null. */
export function weekdaysOf(field: string): number[] | null {
  if (field === '*') return [0, 1, 2, 3, 4, 5, 6]
  const all = numbers(field, weekday)
  return all && [...new Set(all.map(d => d % 7))].sort((a, b) => a - b)
}

const listed = (parts: readonly string[]): string =>
  parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} ${words.and} ${parts.at(-1)}`

/** Returns the days in words, or null if that would be too long or inexact. */
function days(dom: string, month: string, dow: string): string | null {
  if (month !== '*') return null
  if (dom === '*' && dow === '*') return words.daily
  if (dow === '*') {
    const all = numbers(dom, plain(1, 31))
    return all && all.length <= 4 ? words.monthly(listed(all.map(String))) : null
  }
  // If both are restricted, either one suffices, which the raw expression shows best.
  if (dom !== '*') return null
  const set = weekdaysOf(dow)
  if (!set) return null
  if (set.length === 7) return words.daily
  if (set.join() === '1,2,3,4,5') return words.weekdays
  if (set.join() === '0,6') return words.weekends
  return words.on(listed(set.map(d => scheduleTexts.weekdays[d] ?? '')))
}

/** Describes a cron expression in words: "on weekdays at 09:00". Null if words would be longer or less exact. */
export function cronWords(expr: string): string | null {
  const fields = expr.trim().split(/\s+/)
  const [minute = '', hour = '', dom = '', month = '', dow = ''] = fields
  if (fields.length !== 5) return null
  const which = days(dom, month, dow)
  if (which === null) return null
  const ofDays = which === words.daily ? '' : ` ${which}`
  const step = /^\*\/(\d{1,2})$/
  const minutes = Number(step.exec(minute)?.[1])
  if (hour === '*') {
    if (minute === '*') return words.everyMinute + ofDays
    // Steps that don't divide the hour restart each hour, so "every 7 minutes" would be wrong.
    if (minutes > 0 && 60 % minutes === 0) return words.everyMinutes(minutes) + ofDays
    return minuteOf(minute) === null ? null : words.everyHour(two(Number(minute))) + ofDays
  }
  if (minuteOf(minute) === null) return null
  const hours = Number(step.exec(hour)?.[1])
  if (hours > 0 && 24 % hours === 0) return words.everyHours(hours, two(Number(minute))) + ofDays
  const clock = (h: number) => `${two(h)}:${two(Number(minute))}`
  const among = /^(\d{1,2})-(\d{1,2})\/(\d{1,2})$/.exec(hour)?.slice(1).map(Number)
  if (among) {
    const [from = 0, to = 0, by = 0] = among
    if (by === 0 || from >= to || to > 23) return null
    return words.within(by, clock(from), clock(to - ((to - from) % by))) + ofDays
  }
  const all = numbers(hour, hourOf)
  if (!all) return null
  if (all.length > 4) {
    const [first = 0] = all
    const row = all.every((h, i) => h === first + i)
    return row ? words.within(1, clock(first), clock(first + all.length - 1)) + ofDays : null
  }
  return words.at(listed(all.map(clock)), which)
}
