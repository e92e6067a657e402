import { params, textParam, wordParam, wordsParam } from '../app/searchParams'
import { kinds, orders, severities, states } from './item'

/** Reads the search parameters of the inbox. */
export function search(s: Record<string, unknown>) {
  return params({
    state: wordsParam(s.state, states)?.join(','),
    kind: wordsParam(s.kind, kinds)?.join(','),
    severity: wordsParam(s.severity, severities)?.join(','),
    assignee: textParam(s.assignee),
    order: wordParam(s.order, orders),
    item: textParam(s.item),
  })
}

export type InboxSearch = ReturnType<typeof search>

/** Changes search parameters; undefined removes one. */
export type Go = (change: InboxSearch, replace?: boolean) => void
