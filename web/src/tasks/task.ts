import type { Schemas } from '../api/client'
import type { Person } from '../app/queries'
import type { TaskSearch } from './route'

export type Task = Schemas['Task']
/** A task as in lists, without its description. */
export type TaskCard = Schemas['TaskCard']
export type Status = Task['status']

export const statuses = ['backlog', 'todo', 'in_progress', 'review', 'done'] as const satisfies readonly Status[]
export const priorities = ['urgent', 'high', 'medium', 'low'] as const satisfies readonly Task['priority'][]
export const types = [
  'task',
  'bug',
  'feature',
  'improvement',
  'research',
  'epic',
] as const satisfies readonly Task['type'][]

/** The search parameters that select tasks. */
export type Filters = Pick<
  TaskSearch,
  'q' | 'status' | 'priority' | 'type' | 'assignee' | 'project' | 'tag' | 'blocked'
>

export function filtersOf(s: TaskSearch): Filters {
  const { q, status, priority, type, assignee, project, tag, blocked } = s
  return Object.fromEntries(
    Object.entries({ q, status, priority, type, assignee, project, tag, blocked }).filter(([, v]) => v),
  ) as Filters
}

export const isFiltered = (f: Filters): boolean => Object.values(f).some(Boolean)

/**
 * Returns whether a task matches the filters, by the server's rules, so that a changed task disappears without a
 * refetch.
 */
export function fits(task: TaskCard, f: Filters, me: string | undefined, people: ReadonlyMap<string, Person>): boolean {
  const among = (list: string | undefined, v: string) => !list || list.split(',').includes(v)
  if (task.archived_at !== null) return false
  if (!among(f.status, task.status) || !among(f.priority, task.priority) || !among(f.type, task.type)) return false
  if (f.blocked && (task.blocked !== null) !== (f.blocked === 'true')) return false
  if (f.tag && !f.tag.split(',').some(t => task.tags?.includes(t))) return false
  if (f.q && !`${task.key}\n${task.title}`.toLowerCase().includes(f.q.toLowerCase())) return false
  // Tasks don't contain project keys, so the server has to match those.
  if (!f.assignee) return true
  if (f.assignee === 'none') return task.assignee_id === null
  if (task.assignee_id === null) return false
  const id = f.assignee === 'me' ? me : f.assignee
  return task.assignee_id === id || people.get(task.assignee_id)?.agent === id
}

const rank = (list: readonly string[], v: string) => list.indexOf(v)
const text = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
const number = (key: string) => Number(key.slice(key.lastIndexOf('-') + 1))

const orders: Record<string, (a: TaskCard, b: TaskCard) => number> = {
  position: (a, b) => text(a.position, b.position),
  key: (a, b) => number(a.key) - number(b.key),
  title: (a, b) => a.title.localeCompare(b.title),
  status: (a, b) => rank(statuses, a.status) - rank(statuses, b.status),
  priority: (a, b) => rank(priorities, a.priority) - rank(priorities, b.priority),
  age: (a, b) => text(b.moved_at, a.moved_at),
  due: (a, b) => text(a.due_at ?? '9', b.due_at ?? '9'),
}

/** Sorts tasks for the table. A leading minus reverses the order; ties keep the board order. */
export function sorted(tasks: readonly TaskCard[], by: string): TaskCard[] {
  const turn = by.startsWith('-') ? -1 : 1
  const order = orders[by.replace(/^-/, '')] ?? orders.position
  return [...tasks].sort((a, b) => turn * (order?.(a, b) ?? 0) || text(a.position, b.position) || text(a.id, b.id))
}

/**
 * Returns a position between two others, until the server assigns one: digits read as a fraction, as in
 * internal/task/position.go.
 */
export function between(low: string, high: string): string {
  let open = high === ''
  let made = ''
  for (let i = 0; i < 200; i++) {
    const l = Number(low[i] ?? 0)
    const h = open ? 10 : Number(high[i] ?? 0)
    if (h - l > 1) return made + String(Math.floor((l + h) / 2))
    made += String(l)
    if (h > l) open = true
  }
  return `${low}5`
}
