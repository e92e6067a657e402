import { describe, expect, it } from 'vitest'
import { addressOf, textOf, withView } from './saved'

describe('a saved view', () => {
  it('comes back as it was, without what was open beside it', () => {
    const search = { status: 'todo,review', assignee: 'me', sort: '-age' as const, task: 'TASK-7', new: '1' as const }
    const kept = { name: 'Mine', search: textOf(search, 'table') }
    expect(addressOf(kept)).toEqual({
      saved: 'Mine',
      view: 'table',
      status: 'todo,review',
      assignee: 'me',
      sort: '-age',
      q: undefined,
      priority: undefined,
      type: undefined,
      project: undefined,
      tag: undefined,
      blocked: undefined,
    })
  })
  it('does not bring what somebody wrote into the storage', () => {
    const made = addressOf({ name: 'x', search: 'view=3d&status=gone&blocked=perhaps&task=TASK-1&q=a' })
    expect(made).toMatchObject({ q: 'a', view: undefined, status: undefined, blocked: undefined })
    expect(made.task).toBeUndefined()
  })
  it('is the same text whatever the order of the address', () =>
    expect(textOf({ priority: 'high', q: 'a' }, 'board')).toBe(textOf({ q: 'a', priority: 'high' }, 'board')))
  it('replaces the one of its name', () => {
    const all = withView(withView([], { name: 'b', search: '1' }), { name: 'a', search: '2' })
    expect(withView(all, { name: 'b', search: '3' })).toEqual([
      { name: 'a', search: '2' },
      { name: 'b', search: '3' },
    ])
  })
})
