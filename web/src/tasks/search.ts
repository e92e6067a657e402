import { params, searchParam, textParam, wordParam, wordsParam } from '../app/searchParams'
import { priorities, statuses, types } from './task'

const sorts = [
  'position',
  'key',
  '-key',
  'title',
  '-title',
  'status',
  '-status',
  'priority',
  '-priority',
  'age',
  '-age',
  'due',
  '-due',
] as const

/** Reads the search parameters of the tasks page. */
export function search(s: Record<string, unknown>) {
  return params({
    view: wordParam(s.view, ['board', 'table']),
    q: searchParam(s.q),
    status: wordsParam(s.status, statuses)?.join(','),
    priority: wordsParam(s.priority, priorities)?.join(','),
    type: wordsParam(s.type, types)?.join(','),
    assignee: textParam(s.assignee),
    project: textParam(s.project),
    tag: textParam(s.tag),
    blocked: wordParam(s.blocked, ['true', 'false']),
    sort: wordParam(s.sort, sorts),
    saved: textParam(s.saved),
    task: textParam(s.task),
    /** Opens the form for a new task, with this as its title unless it is 1. */
    new: textParam(s.new),
  })
}

export type TaskSearch = ReturnType<typeof search>

/** Changes search parameters; undefined removes one. */
export type Go = (change: TaskSearch, replace?: boolean) => void
