import { dayParam, params, searchParam, textParam, wordParam } from '../app/searchParams'

/** Reads the search parameters of the sessions page. */
export function search(s: Record<string, unknown>) {
  return params({
    show: wordParam(s.show, ['live', 'history']),
    q: searchParam(s.q),
    agent: textParam(s.agent),
    kind: textParam(s.kind),
    state: wordParam(s.state, ['active', 'stalled', 'failed', 'timeout', 'killed']),
    jobs: textParam(s.jobs),
    status: wordParam(s.status, ['done', 'failed', 'killed', 'timeout']),
    from: dayParam(s.from),
    to: dayParam(s.to),
  })
}

export type SessionsSearch = ReturnType<typeof search>

export type Go = (change: SessionsSearch, replace?: boolean) => void
