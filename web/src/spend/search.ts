import { dayParam, params, textParam, wordParam, zoneParam } from '../app/searchParams'
import { periods } from './period'

export const groups = ['agent', 'task', 'job', 'project', 'model', 'source'] as const
export const measures = ['cost', 'tokens'] as const
export const tabs = ['spend', 'limits', 'prices'] as const

/** Reads the search parameters of the spend page. */
export function search(s: Record<string, unknown>) {
  return params({
    part: wordParam(s.part, tabs),
    period: wordParam(s.period, periods),
    from: dayParam(s.from),
    to: dayParam(s.to),
    zone: zoneParam(s.zone),
    by: wordParam(s.by, groups),
    measure: wordParam(s.measure, measures),
    show: wordParam(s.show, ['chart', 'table']),
    price: textParam(s.price),
  })
}

export type SpendSearch = ReturnType<typeof search>

/** Changes search parameters; undefined removes one. */
export type Go = (change: SpendSearch, replace?: boolean) => void
