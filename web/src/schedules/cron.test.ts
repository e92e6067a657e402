import { describe, expect, it } from 'vitest'
import { cronWords } from './cron'

// A wrong description would make people miss a run.
describe('a cron expression in words', () => {
  it.each([
    ['0 9 * * 1-5', 'on weekdays at 09:00'],
    ['0 9 * * MON-FRI', 'on weekdays at 09:00'],
    ['30 8 * * *', 'daily at 08:30'],
    ['5 7 * * 1', 'on Mondays at 07:05'],
    ['0 9,13 * * 2,4', 'on Tuesdays and Thursdays at 09:00 and 13:00'],
    ['0 9 * * 0,6', 'on weekends at 09:00'],
    ['0 9 * * 6-7', 'on weekends at 09:00'],
    ['0 9 * * 0-6', 'daily at 09:00'],
    ['0 9 1 * *', 'on day 1 of the month at 09:00'],
    ['0 9 1,15 * *', 'on day 1 and 15 of the month at 09:00'],
    ['* * * * *', 'every minute'],
    ['*/15 * * * *', 'every 15 minutes'],
    ['*/15 * * * 1-5', 'every 15 minutes on weekdays'],
    ['20 * * * *', 'every hour at :20'],
    ['0 */6 * * *', 'every 6 hours at :00'],
    ['30 5-19/3 * * *', 'every 3 hours from 05:30 to 17:30'],
    ['0 8-20/4 * * 1-5', 'every 4 hours from 08:00 to 20:00 on weekdays'],
    ['15 9-17 * * 1-5', 'every hour from 09:15 to 17:15 on weekdays'],
    ['  0   9 * * 1-5 ', 'on weekdays at 09:00'],
  ])('%s is "%s"', (expr, want) => expect(cronWords(expr)).toBe(want))

  it.each([
    '', // empty
    '0 9 * *', // a field is missing
    '0 9 * * 1-5 2026', // one field too many
    '*/7 * * * *', // restarts each hour
    '0 */5 * * *', // restarts each day
    '0 9 13 * 5', // either of the two days
    '0 9 * 12 *', // only one month
    '0 1,3,5,6,9 * * *', // too many to list
    '0 9-9/2 * * *',
    '0 20-25/2 * * *',
    '0 5-19/0 * * *',
    '61 9 * * *', // invalid minute
    '0 24 * * *',
    '0 9 * * 8',
    '0 9 0 * *',
    '0 9 * * 5-1',
    '@daily',
    '0 9 L * *',
  ])('%s has none', expr => expect(cronWords(expr)).toBeNull())
})
