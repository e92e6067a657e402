import { describe, expect, it } from 'vitest'
import { type Found, fold, reportsOf, titleOf } from './searchResults'

const session = (id: string, title: string, agent: string): Found => ({
  kind: 'session',
  task_id: null,
  task_key: null,
  comment_id: null,
  session_id: id,
  standup_id: null,
  agent_id: agent,
  title,
  archived: true,
  snippet: '',
  marks: [],
  at: `2026-11-20T0${id}:00:00Z`,
  edited_at: null,
})

// Identical rows would crowd out other results.
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

describe('reports of one standup', () => {
  it('are one row, and whose they are', () => {
    const report = (standup: string, agent: string): Found => ({
      ...session('1', `Standup of ${standup}`, agent),
      kind: 'report',
      session_id: null,
      standup_id: standup,
    })
    const rows = reportsOf([report('b', 'cto'), session('2', 'Read', 'cto'), report('a', 'cmo'), report('b', 'cpo')])
    expect(rows.map(r => [r.standup, r.title, r.agents])).toEqual([
      ['b', 'Standup of b', ['cto', 'cpo']],
      ['a', 'Standup of a', ['cmo']],
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
