import { describe, expect, it } from 'vitest'
import type { Person } from '../app/queries'
import { between, sorted, type Task } from './task'
import { fits } from './taskFilters'

const make = (of: Partial<Task>): Task =>
  ({
    id: of.key ?? 'x',
    key: 'TASK-1',
    title: 'Ship it',
    status: 'todo',
    priority: 'high',
    type: 'task',
    tags: ['a'],
    assignee_id: 'u1',
    archived_at: null,
    blocked: null,
    position: '5',
    due_at: null,
    moved_at: '',
    ...of,
  }) as Task
const people = new Map<string, Person>([['u1', { id: 'u1', name: 'CTO', agent: 'cto', active: true }]])

// Changed tasks must enter and leave lists by the server's rules.
describe('a filter', () => {
  it.each([
    [{}, true],
    [{ status: 'todo,done' }, true],
    [{ status: 'done' }, false],
    [{ assignee: 'cto' }, true],
    [{ assignee: 'u1' }, true],
    [{ assignee: 'me' }, true],
    [{ assignee: 'none' }, false],
    [{ assignee: 'coo' }, false],
    [{ tag: 'b,a' }, true],
    [{ tag: 'b' }, false],
    [{ q: 'SHIP' }, true],
    [{ q: 'task-1' }, true],
    [{ q: 'boat' }, false],
    [{ blocked: 'true' as const }, false],
    [{ blocked: 'false' as const }, true],
  ])('%j: %s', (filters, want) => expect(fits(make({}), filters, 'u1', people)).toBe(want))
  it('never shows what is in the archive', () => expect(fits(make({ archived_at: 'x' }), {}, 'u1', people)).toBe(false))
})

// A dropped card must stay in place until the server assigns its position.
describe('a place', () => {
  it.each([
    ['000000000001', '000000000002'],
    ['000000000001', ''],
    ['', '000000000001'],
    ['5', '51'],
    ['59', '6'],
    ['1', '1000001'],
  ])('between %s and %s', (low, high) => {
    const made = between(low, high)
    expect(made > low).toBe(true)
    if (high) expect(made < high).toBe(true)
  })
  it('sorts what needs people first, and what is done last', () => {
    const blocked = { reason: 'No card', by: '', since: '2026-01-01' }
    const list = [
      make({ key: 'TASK-1', status: 'done', priority: 'urgent' }),
      make({ key: 'TASK-2', status: 'todo' }),
      make({ key: 'TASK-3', status: 'todo', priority: 'urgent' }),
      make({ key: 'TASK-4', status: 'todo', due_at: '2026-01-01' }),
      make({ key: 'TASK-5', status: 'review', priority: 'low' }),
      make({ key: 'TASK-6', status: 'backlog', blocked }),
    ]
    const keys = sorted(list, 'status').map(t => Number(t.key.slice(5)))
    expect(keys).toEqual([6, 5, 3, 4, 2, 1])
  })
  it('sorts numbers of keys as numbers, and what is not due last', () => {
    const list = [make({ key: 'TASK-10' }), make({ key: 'TASK-9', due_at: '2026-01-01' })]
    expect(sorted(list, 'key').map(t => t.key)).toEqual(['TASK-9', 'TASK-10'])
    expect(sorted(list, 'due').map(t => t.key)).toEqual(['TASK-9', 'TASK-10'])
  })
})
