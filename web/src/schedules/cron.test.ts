import { describe, expect, it } from 'vitest'
import { cronWords } from './cron'

// Words that say another time than the expression make somebody miss a meeting.
describe('a cron expression in words', () => {
  it.each([
    ['0 9 * * 1-5', '09:00 on weekdays'],
    ['0 9 * * MON-FRI', '09:00 on weekdays'],
    ['30 8 * * *', '08:30 every day'],
    ['5 7 * * 1', '07:05 on Mondays'],
    ['0 9,13 * * 2,4', '09:00 and 13:00 on Tuesdays and Thursdays'],
    ['0 9 * * 0,6', '09:00 on weekends'],
    ['0 9 * * 6-7', '09:00 on weekends'],
    ['0 9 * * 0-6', '09:00 every day'],
    ['0 9 1 * *', '09:00 on day 1 of the month'],
    ['0 9 1,15 * *', '09:00 on day 1 and 15 of the month'],
    ['* * * * *', 'every minute'],
    ['*/15 * * * *', 'every 15 minutes'],
    ['*/15 * * * 1-5', 'every 15 minutes on weekdays'],
    ['20 * * * *', 'every hour at :20'],
    ['0 */6 * * *', 'every 6 hours at :00'],
    ['  0   9 * * 1-5 ', '09:00 on weekdays'],
  ])('%s is "%s"', (expr, want) => expect(cronWords(expr)).toBe(want))

  it.each([
    '', // nothing
    '0 9 * *', // a field is missing
    '0 9 * * 1-5 2026', // one too many
    '*/7 * * * *', // begins anew with each hour
    '0 */5 * * *', // begins anew with each day
    '0 9 13 * 5', // either of both days
    '0 9 * 12 *', // one month alone
    '0 1-9 * * *', // too many to list
    '61 9 * * *', // no such minute
    '0 24 * * *',
    '0 9 * * 8',
    '0 9 0 * *',
    '0 9 * * 5-1',
    '@daily',
    '0 9 L * *',
  ])('%s has none', expr => expect(cronWords(expr)).toBeNull())
})
