import { describe, expect, it } from 'vitest'
import type { Schemas } from '../api/client'
import type { Archived } from '../sessions/session'
import { activityOf } from './activity'
import type { Said } from './report'

const event = (id: number, kind: string, data: object = {}) =>
  ({ id, at: `2026-11-20T08:${10 + id}`, kind, data, actor: { id: 'u1', name: 'CTO' } }) as unknown as Schemas['Event']
const comment = (id: string, minute: number) =>
  ({ id, created_at: `2026-11-20T08:${minute}`, body: id, edited_at: null }) as unknown as Schemas['TaskComment']
const session = (id: string, minute: number) =>
  ({ id, last_at: `2026-11-20T08:${minute}`, archived_at: null, last_message: 'Done.' }) as unknown as Archived

const none = { comments: [], events: [], more: false, sessions: [], latest: null }
const shown = (of: Partial<Parameters<typeof activityOf>[0]>) =>
  activityOf({ ...none, ...of }).map(e => ('changes' in e ? `${e.changes.length} changes` : e.id))

// One stream must tell everything once, in the order in which it happened.
describe('the activity of a task', () => {
  const changed = [5, 4, 1].map(id => event(id, 'task.changed'))

  it('has words and sessions in order, and folds the changes between them', () =>
    expect(
      shown({
        comments: [comment('first', 12), comment('last', 19)],
        events: [
          ...changed.slice(0, 2),
          event(3, 'task.reported', { report: 'done', text: 'Done.' }),
          ...changed.slice(2),
        ],
        sessions: [session('run', 18)],
      }),
    ).toEqual(['last', 'run', '2 changes', 'e3', 'first', '1 changes']))

  it('tells a comment once, a deleted one as a change, and no cost updates', () =>
    expect(
      shown({
        comments: [comment('kept', 13)],
        events: [
          event(6, 'task.spent'),
          event(4, 'task.commented', { comment_id: 'gone' }),
          event(3, 'task.commented', { comment_id: 'kept' }),
        ],
      }),
    ).toEqual(['1 changes', 'kept']))

  it('names a report whose text is shown above it', () => {
    const events = [event(3, 'task.reported', { report: 'done', text: 'Done.' })]
    expect(shown({ events, latest: { id: 'e4', text: 'Done. All of it.' } as Said })).toEqual(['1 changes'])
    expect(shown({ comments: [comment('c', 12)], latest: { id: 'c', text: '' } as Said })).toEqual([])
  })

  it('repeats the last words of a session only if they are told nowhere else', () => {
    const last = (of: object) =>
      activityOf({ ...none, ...of, sessions: [session('run', 18)] }).flatMap(e => ('session' in e ? [e.last] : []))
    expect(last({})).toEqual(['Done.'])
    expect(last({ events: [event(3, 'task.reported', { report: 'done', text: '**Done.** All.' })] })).toEqual([null])
    expect(last({ latest: { id: 'x', text: 'Done.' } as Said })).toEqual([null])
  })

  it('keeps older words back until the changes of their time are loaded', () => {
    const of = { comments: [comment('old', 10), comment('new', 19)], events: changed, sessions: [session('run', 10)] }
    expect(shown({ ...of, more: true })).toEqual(['new', '3 changes'])
    expect(shown(of)).toEqual(['new', '3 changes', 'old', 'run'])
  })
})
