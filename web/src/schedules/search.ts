import { params, searchParam, textParam, wordParam } from '../app/searchParams'

export const tabs = ['runs', 'slots'] as const
export const shows = ['enabled', 'disabled', 'failing', 'missed'] as const

/** Reads the search parameters of the schedules page. */
export function search(s: Record<string, unknown>) {
  return params({
    q: searchParam(s.q),
    agent: textParam(s.agent),
    show: wordParam(s.show, shows),
    job: textParam(s.job),
    tab: wordParam(s.tab, tabs),
    form: wordParam(s.form, ['new', 'standup', 'edit', 'delete']),
  })
}

export type JobSearch = ReturnType<typeof search>
export type Go = (change: JobSearch, replace?: boolean) => void
