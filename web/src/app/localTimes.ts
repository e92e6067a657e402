import { clock } from './time'

/** Returns a text of Wardroom with its times in the local time zone. A time without a day is of the day `last_at`. */
export const localTimes = (text: string, last_at: string): string =>
  text.replace(/(?:(\d{4}-\d\d-\d\d) )?\b(\d\d:\d\d) UTC\b/g, (all, day: string | undefined, time: string) => {
    const at = Date.parse(`${day ?? last_at.slice(0, 10)}T${time}Z`)
    return Number.isNaN(at) ? all : clock(at, undefined, day ? 'date' : 'time')
  })
