import type { Schemas } from '../api/client'

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

const rank = (list: readonly string[], v: string) => list.indexOf(v)
const text = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
const number = (key: string) => Number(key.slice(key.lastIndexOf('-') + 1))
const byPriority = (a: TaskCard, b: TaskCard) => rank(priorities, a.priority) - rank(priorities, b.priority)
const byDue = (a: TaskCard, b: TaskCard) => text(a.due_at ?? '9', b.due_at ?? '9')
/** What needs people comes first. */
const urgency = (t: TaskCard) =>
  t.blocked && t.status !== 'done' ? -1 : rank(['review', 'in_progress', 'todo', 'backlog', 'done'], t.status)

const orders: Record<string, (a: TaskCard, b: TaskCard) => number> = {
  position: (a, b) => text(a.position, b.position),
  key: (a, b) => number(a.key) - number(b.key),
  title: (a, b) => a.title.localeCompare(b.title),
  status: (a, b) => urgency(a) - urgency(b) || byPriority(a, b) || byDue(a, b),
  priority: byPriority,
  age: (a, b) => text(b.moved_at, a.moved_at),
  due: byDue,
}

/**
 * Sorts tasks for the table. By status, blocked ones come first and done ones last, each by priority and due time. A
 * leading minus reverses the order; ties keep the board order.
 */
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
