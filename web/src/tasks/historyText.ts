import { moment } from '../app/format'
import type { Person } from '../app/queries'
import { texts } from '../texts'
import { dayText } from '../ui/dates'
import { dueDay } from './fields'
import type { Task } from './task'

const words = texts.tasks

/** The part of an event that these functions use. */
export interface Happened {
  kind: string
  data: unknown
}

/** A line below an event: a changed field, or a sentence. */
export type Line = { field: string; from: string; to: string } | { text: string }

/** The names of IDs in events. */
export interface Names {
  people: ReadonlyMap<string, Person>
  /** Task keys and project names by ID. */
  things: ReadonlyMap<string, string>
  /** The server's time zone. */
  zone: string | undefined
}

const object = (v: unknown): Record<string, unknown> =>
  typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : {}
const text = (v: unknown): string => (typeof v === 'string' ? v : '')
const none = '–'

const wordOf = (of: Readonly<Record<string, string>>, v: string): string => of[v] ?? v

/** Formats a value of a field. Unknown IDs stay as they are. */
function value(field: string, v: unknown, { people, things, zone }: Names): string {
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
      return dayText(dueDay(said, zone))
    default:
      return said
  }
}

function claim(now: unknown): Line {
  const { name, expires_at } = object(now)
  const until = text(expires_at)
  return { text: until ? words.claimedUntil(text(name), moment(until)) : words.claimedNoMore }
}

/** Returns the lines of a changed field. Positions and long texts are only mentioned. */
function change(field: string, pair: unknown, names: Names): Line[] {
  const [from, to] = Array.isArray(pair) ? pair : [null, pair]
  if (field === 'claim') return [claim(to)]
  if (field === 'archived_at') return []
  if (field === 'criteria' || field === 'checks') return [{ text: words.historyField[field] ?? field }]
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

/** Returns the lines about a dispatch. */
function dispatch(data: Record<string, unknown>): Line[] {
  const d = object(data.dispatch)
  const lines = [text(d.waiting), text(object(d.error).detail)]
  return lines.filter(Boolean).map(line => ({ text: line }))
}

/** Returns the lines below an event, without the words of a report or an answer. */
export function linesOf(event: Happened, names: Names): Line[] {
  const data = object(event.data)
  const held = object(data.held_by)
  return [
    ...(text(data.text) && event.kind !== 'task.reported' ? [{ text: text(data.text) }] : []),
    ...dispatch(data),
    ...(text(held.name) ? [{ text: words.heldBy(text(held.name)) }] : []),
    ...(event.kind === 'task.changed' && text(data.deleted) ? [{ text: words.untied(text(data.deleted)) }] : []),
    ...Object.entries(object(data.changes)).flatMap(([field, pair]) => change(field, pair, names)),
  ]
}

/** Returns what happened, to follow the actor's name. */
export function deedOf(event: Happened): string {
  const data = object(event.data)
  const report = text(data.report)
  if (event.kind === 'task.reported' && report) return wordOf(words.reported, report)
  const d = object(data.dispatch)
  const agent = text(d.agent_id)
  const kind = d.state === 'failed' ? `${event.kind}_badly` : event.kind
  const deed = wordOf(words.historyKind, words.historyKind[kind] ? kind : event.kind)
  return agent ? `${deed}: ${agent}` : deed
}

/** Returns the IDs of the tasks that the changes mention. */
export function parentsIn(events: readonly Happened[]): Task['id'][] {
  const ids = events.flatMap(e => {
    const pair = object(object(e.data).changes).parent_id
    return Array.isArray(pair) ? pair.filter((v): v is string => typeof v === 'string') : []
  })
  return [...new Set(ids)]
}
