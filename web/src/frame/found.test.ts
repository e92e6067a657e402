import { describe, expect, it } from 'vitest'
import { type Found, fold, titleOf } from './found'

const session = (id: string, title: string, agent: string): Found => ({
  kind: 'session',
  task_id: null,
  task_key: null,
  comment_id: null,
  session_id: id,
  agent_id: agent,
  title,
  archived: true,
  snippet: '',
  marks: [],
  at: `2026-11-20T0${id}:00:00Z`,
  edited_at: null,
})

// Eight rows that say the same say nothing, and leave no room for what was looked for.
describe('sessions of one title', () => {
  it('are one row, the newest, and a count', () => {
    const folds = fold([
      session('3', 'Read the terms', 'cto'),
      session('2', 'read the terms ', 'cmo'),
      session('4', 'Another', 'cto'),
      session('1', 'Read the terms', 'cto'),
      { ...session('0', 'Read the terms', 'cto'), kind: 'task', session_id: null, task_id: 't', task_key: 'TASK-1' },
    ])
    expect(folds.map(f => [f.first.session_id, f.others, f.agents])).toEqual([
      ['3', 2, ['cto', 'cmo']],
      ['4', 0, ['cto']],
    ])
  })
})

describe('what a session that was found is called', () => {
  it.each([
    ['Read the terms', 'Read the terms'],
    ['standup:2026-11-21', 'Standup of 2026-11-21'],
    ['agent:cto:standup:2026-11-21', 'Standup of 2026-11-21'],
    ['agent:cto:main', 'Main session'],
    ['task:task-7', 'TASK-7'],
  ])('%s: %s', (title, name) => expect(titleOf(session('1', title, 'cto'))).toBe(name))
})
