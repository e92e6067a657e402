import type { Schemas } from '../api/client'
import { myZone } from '../app/format'
import { schedules as scheduleTexts } from '../texts/schedules'
import { instantIn } from '../ui/zones'
import type { Definition, Job } from './job'

/** The form data of a job. */
export interface Draft {
  name: string
  description: string
  agentId: string
  expr: string
  /** The local time in `tz` of a job that runs once: 2026-12-02T09:00. Otherwise empty. */
  once: string
  tz: string
  message: string
  delivery: 'none' | 'announce'
  /** The title of the task that each run makes; empty for none. */
  taskTitle: string
  taskText: string
  taskPriority: NonNullable<Job['task']>['priority'] & string
}

const f = scheduleTexts.fields

const fieldWords = {
  name: scheduleTexts.form.name,
  description: f.description,
  agentId: f.agent,
  expr: f.expr,
  once: scheduleTexts.times.forms.once,
  tz: f.zone,
  message: f.message,
  delivery: f.delivery,
  taskTitle: f.task,
  taskText: f.taskText,
  taskPriority: f.taskPriority,
} as const satisfies Record<keyof Draft, string>

/** Converts a job to form data. A delivery mode that the form doesn't offer is left unchanged. */
export const draftOf = (j: Definition & Pick<Job, 'task'>): Draft => ({
  name: j.name,
  description: j.description,
  agentId: j.agentId,
  expr: j.schedule.expr ?? '',
  once: '',
  tz: j.schedule.tz ?? '',
  message: j.payload.message,
  delivery: j.delivery.mode === 'announce' ? 'announce' : 'none',
  taskTitle: j.task?.title ?? '',
  taskText: j.task?.description ?? '',
  taskPriority: j.task?.priority ?? 'medium',
})

/** A changed field. */
export interface Difference {
  field: keyof Draft
  label: string
  from: string
  to: string
}

const tidy = (d: Draft): Draft => ({
  ...d,
  name: d.name.trim(),
  description: d.description.trim(),
  expr: d.expr.trim().split(/\s+/).join(' '),
  tz: d.tz.trim(),
  message: d.message.trim(),
  taskTitle: d.taskTitle.trim(),
  taskText: d.taskTitle.trim() && d.taskText.trim(),
  taskPriority: d.taskTitle.trim() ? d.taskPriority : 'medium',
})

/** Returns the task that each run makes, or null. */
const taskOf = (d: Draft): Job['task'] =>
  d.taskTitle ? { title: d.taskTitle, description: d.taskText, priority: d.taskPriority } : null

/** Returns the changed fields. Surrounding white space doesn't count. */
export function diff(was: Draft, wanted: Draft): Difference[] {
  const [a, b] = [tidy(was), tidy(wanted)]
  return (Object.keys(fieldWords) as (keyof Draft)[])
    .filter(field => a[field] !== b[field])
    .map(field => ({ field, label: fieldWords[field], from: a[field], to: b[field] }))
}

/** Applies the user's changes on top of a job that someone else changed while the form was open. */
export function rebase(read: Draft, theirs: Draft, yours: Draft): Draft {
  const mine = new Set(diff(read, yours).map(d => d.field))
  const own = Object.fromEntries(Object.entries(yours).filter(([field]) => mine.has(field as keyof Draft)))
  return { ...theirs, ...own }
}

/** Returns a request body with only the changed fields. */
export function changeOf(was: Draft, wanted: Draft, revision: string): Schemas['ScheduleChange'] {
  const to = tidy(wanted)
  const fields = new Set(diff(was, wanted).map(d => d.field))
  return {
    configRevision: revision,
    ...(fields.has('name') ? { name: to.name } : {}),
    ...(fields.has('description') ? { description: to.description } : {}),
    ...(fields.has('agentId') ? { agentId: to.agentId } : {}),
    ...(fields.has('expr') || fields.has('tz') ? { schedule: { expr: to.expr, ...(to.tz ? { tz: to.tz } : {}) } } : {}),
    ...(fields.has('message') ? { payload: { message: to.message } } : {}),
    ...(fields.has('delivery') ? { delivery: { mode: to.delivery } } : {}),
    ...((['taskTitle', 'taskText', 'taskPriority'] as const).some(t => fields.has(t)) ? { task: taskOf(to) } : {}),
  }
}

/** Returns whether the form has text that would be lost. Selections don't count. */
export const isBegun = (d: Draft): boolean =>
  [d.name, d.message, d.description, d.taskTitle].some(text => text.trim() !== '')

/** Returns the request body for a new job. */
export function newOf(d: Draft, enabled: boolean): Schemas['ScheduleDraft'] {
  const to = tidy(d)
  return {
    name: to.name,
    agentId: to.agentId,
    enabled,
    schedule: to.once
      ? { kind: 'at', at: instantIn(to.once, to.tz || myZone()) }
      : { expr: to.expr, ...(to.tz ? { tz: to.tz } : {}) },
    payload: { message: to.message },
    delivery: { mode: to.delivery },
    ...(to.description ? { description: to.description } : {}),
    ...(to.taskTitle ? { task: taskOf(to) } : {}),
  }
}

export interface Line {
  mark: '+' | '−' | ' '
  text: string
}

/** Maximum number of line pairs to compare. Beyond it, the diff shows the whole text as replaced. */
const mostCells = 400_000

/** Returns the line diff of two texts. */
export function diffLines(from: string, to: string): Line[] {
  const a = from.split('\n')
  const b = to.split('\n')
  if (a.length * b.length > mostCells) {
    return [...a.map(text => ({ mark: '−', text }) as const), ...b.map(text => ({ mark: '+', text }) as const)]
  }
  // Longest common subsequence, computed from the end so that it can be walked from the start.
  const length = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  const at = (i: number, j: number) => length[i]?.[j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = length[i]
      if (row) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ mark: ' ', text: a[i] ?? '' })
      i++
      j++
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ mark: '−', text: a[i++] ?? '' })
    } else {
      lines.push({ mark: '+', text: b[j++] ?? '' })
    }
  }
  return lines
}
