import { dayParam, params, textParam, wordParam } from '../app/searchParams'

const parts = ['reports', 'transcript'] as const

/** Reads the search parameters of the standups page. */
export function search(s: Record<string, unknown>) {
  return params({
    team: textParam(s.team),
    /** A day such as 2026-11-20; the latest standup if omitted. */
    day: dayParam(s.day),
    part: wordParam(s.part, parts),
    /** The last day of the calendar. */
    until: dayParam(s.until),
    /** The participants whose activity is expanded, separated by commas. */
    open: textParam(s.open),
    /** The participant whose report is being submitted. */
    file: textParam(s.file),
  })
}

export type StandupSearch = ReturnType<typeof search>
export type Go = (change: StandupSearch, replace?: boolean) => void
