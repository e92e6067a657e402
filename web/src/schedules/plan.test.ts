import { describe, expect, it } from 'vitest'
import { cronWords } from './cron'
import { forms, inForm, type Plan, planOf, steps, storedOf } from './plan'

const stored = (expr: string) => ({ expr, once: '' })
const plan: Plan = { form: 'daily', time: '09:00', days: [1], every: 1, minute: 0, day: '', expr: '' }

// An expression that opens in the wrong form would be saved as another schedule.
describe('an expression', () => {
  it.each<[string, Partial<Plan>]>([
    ['0 9 * * *', { form: 'daily', time: '09:00' }],
    ['5 7 * * *', { form: 'daily', time: '07:05' }],
    ['0 9 * * 0-6', { form: 'daily', time: '09:00' }],
    ['0 9 * * 1-5', { form: 'weekdays', time: '09:00' }],
    ['0 9 * * MON-FRI', { form: 'weekdays', time: '09:00' }],
    ['0 9 * * 1,2,3,4,5', { form: 'weekdays', time: '09:00' }],
    ['30 8 * * 1', { form: 'weekly', time: '08:30', days: [1] }],
    ['30 8 * * mon,thu', { form: 'weekly', time: '08:30', days: [1, 4] }],
    ['0 9 * * 0,6', { form: 'weekly', time: '09:00', days: [0, 6] }],
    ['0 9 * * 6-7', { form: 'weekly', time: '09:00', days: [0, 6] }],
    ['20 * * * *', { form: 'hours', every: 1, minute: 20 }],
    ['0 */6 * * *', { form: 'hours', every: 6, minute: 0 }],
    ['45 */12 * * *', { form: 'hours', every: 12, minute: 45 }],
    ['* * * * *', { form: 'minutes', every: 1 }],
    ['*/15 * * * *', { form: 'minutes', every: 15 }],
    ['  0   9 * * 1-5 ', { form: 'weekdays', time: '09:00' }],
    // None of the forms.
    ...[
      '',
      'nine',
      '0 9 * *',
      '0 9 * * 1-5 2026',
      '*/7 * * * *', // restarts each hour
      '0 */5 * * *', // restarts each day
      '0 */6 * * 1-5',
      '*/15 * * * 1-5',
      '*/15 9 * * *',
      '0 9,13 * * *',
      '0,30 9 * * *',
      '30 5-19/3 * * *',
      '0 9 1 * *',
      '0 9 * 12 *',
      '0 9 13 * 5',
      '61 9 * * *',
      '0 24 * * *',
      '0 9 * * 8',
      '@daily',
    ].map((expr): [string, Partial<Plan>] => [expr, { form: 'cron', expr }]),
  ])('"%s" opens as %o', (expr, want) => expect(planOf(stored(expr))).toMatchObject(want))

  it.each(['0 9 * * 1-5', '0 9 * * MON-FRI', '5 7 * * 7', '20 * * * *', '0 */6 * * *', '*/15 * * * *', '0 9 1 * *'])(
    '%s means the same after it was opened and saved',
    expr => expect(cronWords(storedOf(planOf(stored(expr))).expr)).toBe(cronWords(expr)),
  )
})

// What is chosen must be what is shown when the job is opened again.
describe('a chosen schedule', () => {
  const times = ['00:00', '00:59', '07:05', '09:00', '12:30', '23:59']
  const days = [[0], [1], [6], [1, 4], [0, 6], [1, 2, 3, 4], [0, 1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]
  const chosen: Partial<Plan>[] = [
    ...times.flatMap(time => [
      { form: 'daily' as const, time },
      { form: 'weekdays' as const, time },
    ]),
    ...times.flatMap(time => days.map(list => ({ form: 'weekly' as const, time, days: list }))),
    ...steps.hours.flatMap(every => [0, 5, 59].map(minute => ({ form: 'hours' as const, every, minute }))),
    ...steps.minutes.map(every => ({ form: 'minutes' as const, every })),
    ...times.map(time => ({ form: 'once' as const, day: '2026-12-02', time })),
    ...['0 9 1 * *', '30 5-19/3 * * *', 'nine'].map(expr => ({ form: 'cron' as const, expr })),
  ]
  it.each(chosen)('%o', part => expect(planOf(storedOf({ ...plan, ...part }))).toMatchObject(part))
  it('has words, unless it is a custom one', () => {
    for (const part of chosen) {
      if (part.form === 'cron' || part.form === 'once') continue
      expect(cronWords(storedOf({ ...plan, ...part }).expr), JSON.stringify(part)).not.toBeNull()
    }
  })
})

it('another form has an interval that it offers, and "Custom" the expression of the form before', () => {
  for (const from of forms) {
    for (const to of ['hours', 'minutes'] as const) {
      const next = inForm({ ...plan, form: from, every: from === 'minutes' ? 20 : 12 }, to, '2026-12-02')
      expect(steps[to]).toContain(next.every)
      expect(planOf(storedOf(next)).form).toBe(to)
    }
  }
  expect(inForm({ ...plan, form: 'weekdays' }, 'cron', '')).toMatchObject({ form: 'cron', expr: '0 9 * * 1-5' })
  expect(storedOf(inForm(plan, 'once', '2026-12-02'))).toEqual({ expr: '0 9 * * *', once: '2026-12-02T09:00' })
})
