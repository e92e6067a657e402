import { moment } from '../app/format'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import type { Task } from './task'

const words = texts.tasks

/** What an event tells, as far as these functions look at it. */
export interface Happened {
  kind: string
  data: unknown
}

/** A line below what happened: a field and its two values, or a sentence. */
export type Line = { field: string; from: string; to: string } | { text: string }

/** What ids in events stand for. */
export interface Names {
  people: ReadonlyMap<string, Person>
  /** Keys of tasks and names of projects, by their ids. */
  things: ReadonlyMap<string, string>
}

const object = (v: unknown): Record<string, unknown> =>
  typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : {}
const text = (v: unknown): string => (typeof v === 'string' ? v : '')
const none = '–'

const wordOf = (of: Readonly<Record<string, string>>, v: string): string => of[v] ?? v

/** A value of a field in words; what is not known of it is left as it is. */
function value(field: string, v: unknown, { people, things }: Names): string {
  if (v === null || v === undefined || v === '') return none
  if (Array.isArray(v)) return v.map(String).join(', ') || none
  if (typeof v === 'object') return text(object(v).reason) || none
  const said = String(v)
  switch (field) {
    case 'status':
      return wordOf(words.status, said)
    case 'priority':
      return wordOf(words.priority, said)
    case 'type':
      return wordOf(words.type, said)
    case 'assignee_id':
      return people.get(said)?.name ?? words.somebody
    case 'parent_id':
      return things.get(said) ?? words.someTask
    case 'project_id':
      return things.get(said) ?? words.someProject
    case 'due_at':
      return moment(said)
    default:
      return said
  }
}

function claim(now: unknown): Line {
  const { name, expires_at } = object(now)
  const until = text(expires_at)
  return { text: until ? words.claimedUntil(text(name), moment(until)) : words.claimedNoMore }
}

/** A change of one field. What nobody can read, such as a position, is told and not shown. */
function change(field: string, pair: unknown, names: Names): Line[] {
  const [from, to] = Array.isArray(pair) ? pair : [null, pair]
  if (field === 'claim') return [claim(to)]
  if (field === 'archived_at') return []
  if (field === 'position') return [{ text: words.positionChanged }]
  if (field === 'description') return [{ text: words.descriptionChanged(Number(from) || 0, Number(to) || 0) }]
  return [
    {
      field: wordOf(words.historyField, field),
      from: value(field, from, names),
      to: value(field, to, names),
    },
  ]
}

/** How handing it over went, where an event tells of that. */
function dispatch(data: Record<string, unknown>): Line[] {
  const d = object(data.dispatch)
  const lines = [text(d.waiting), text(object(d.error).detail), text(data.answer)]
  return lines.filter(Boolean).map(line => ({ text: line }))
}

/** What an event has to tell beside its kind, in words. */
export function linesOf(event: Happened, names: Names): Line[] {
  const data = object(event.data)
  const held = object(data.held_by)
  return [
    ...(text(data.text) ? [{ text: text(data.text) }] : []),
    ...dispatch(data),
    ...(text(held.name) ? [{ text: words.heldBy(text(held.name)) }] : []),
    ...(event.kind === 'task.changed' && text(data.deleted) ? [{ text: words.untied(text(data.deleted)) }] : []),
    ...Object.entries(object(data.changes)).flatMap(([field, pair]) => change(field, pair, names)),
  ]
}

/** What somebody did, behind their name. `times` is how often, one right after the other. */
export function deedOf(event: Happened, times = 1): string {
  const data = object(event.data)
  const report = text(data.report)
  if (event.kind === 'task.reported' && report) return wordOf(words.reported, report)
  const d = object(data.dispatch)
  const agent = text(d.agent_id)
  const kind = d.state === 'failed' ? `${event.kind}_badly` : event.kind
  const deed = wordOf(words.historyKind, words.historyKind[kind] ? kind : event.kind)
  const of = agent ? `${deed}: ${agent}` : deed
  return times > 1 ? `${of} ${words.times(times)}` : of
}

/** Events as rows: what the ledger notes again and again between two other things is one of them. */
export function folded<T extends Happened>(events: readonly T[]): { event: T; times: number }[] {
  const rows: { event: T; times: number }[] = []
  for (const event of events) {
    const last = rows.at(-1)
    if (last && event.kind === 'task.spent' && last.event.kind === event.kind) last.times += 1
    else rows.push({ event, times: 1 })
  }
  return rows
}

/** The tasks that changes name by their ids. */
export function parentsIn(events: readonly Happened[]): Task['id'][] {
  const ids = events.flatMap(e => {
    const pair = object(object(e.data).changes).parent_id
    return Array.isArray(pair) ? pair.filter((v): v is string => typeof v === 'string') : []
  })
  return [...new Set(ids)]
}
