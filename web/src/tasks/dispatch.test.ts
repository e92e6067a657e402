import { describe, expect, it } from 'vitest'
import type { Schemas } from '../api/client'
import type { Person } from '../app/queries'
import type { Session } from '../sessions/session'
import { texts } from '../texts'
import { costOf, isGoing, tokensOf, whyNot } from './dispatch'
import { cutReport, latestWords, reportOf } from './report'
import type { Task } from './task'
import { keysOf, liveOf } from './taskSessions'

const words = texts.tasks.dispatch
const make = (of: Partial<Task>): Task =>
  ({
    key: 'TASK-1',
    status: 'todo',
    archived_at: null,
    waiting_on: 0,
    claim: null,
    dispatch: null,
    session_key: null,
    ...of,
  }) as Task

// Unknown costs must not show as zero.
describe('the cost of a task', () => {
  it.each([
    [null, null, null],
    [null, false, words.unpriced],
    ['0.5', true, '$0.50'],
    ['0.5', false, words.atLeast('$0.50')],
    ['0', true, '$0'],
  ])('%s, complete %s: %s', (cost_usd, cost_complete, want) => expect(costOf({ cost_usd, cost_complete })).toBe(want))
  it('counts the tokens of all classes', () => {
    const used = tokensOf({ input: 1000, output: 200, cache_read: 30, cache_write: 4, other: 1 })
    expect(used?.sum).toBe('1.2k')
    expect(used?.parts).toContain('1,000')
    expect(tokensOf(null)).toBeNull()
  })
})

// A disabled button must say why.
describe('handing a task over', () => {
  const me = { role: 'owner' } as Schemas['AccountUser']
  const holder: Person = { id: 'u1', name: 'CTO', agent: 'cto', active: true }
  const usual = { me, gateway: { state: 'connected' }, holder }
  const soon = new Date(Date.now() + 60_000).toISOString()
  const claim = (by: string, expires_at: string) => make({ claim: { by, name: 'CPO', expires_at } })
  it.each([
    ['can be', make({}), usual, null],
    ['can wait for a gateway that is away', make({}), { ...usual, gateway: { state: 'unreachable' } }, null],
    ['is not for users', make({}), { ...usual, me: { ...me, role: 'user' as const } }, words.onlyLeads],
    ['needs a gateway', make({}), { ...usual, gateway: { state: 'not_configured' } }, words.noGateway],
    ['needs an agent', make({}), { ...usual, holder: { ...holder, agent: null } }, words.noAgent],
    ['needs an agent with an account', make({}), { ...usual, holder: { ...holder, active: false } }, words.noAgent],
    ['needs somebody', make({}), { ...usual, holder: undefined }, words.noAgent],
    ['is not for what is done', make({ status: 'done' }), usual, words.isDone],
    ['is not for the archive', make({ archived_at: 'x' }), usual, words.isArchived],
    ['has to wait for others', make({ waiting_on: 2 }), usual, words.isWaiting(2)],
    ['is not for what another holds', claim('u2', soon), usual, words.isHeld('CPO')],
    ['is for what the agent itself holds', claim('u1', soon), usual, null],
    ['is for what nobody holds any more', claim('u2', '2020-01-01T00:00:00.000Z'), usual, null],
  ])('%s', (_, task, asking, want) => expect(whyNot(task, asking)).toBe(want))
  it('goes on until it has ended', () => {
    const of = (state: 'queued' | 'started' | 'ended' | 'failed') => isGoing({ state } as Task['dispatch'])
    expect([of('queued'), of('started'), of('ended'), of('failed'), isGoing(null)]).toEqual([
      true,
      true,
      false,
      false,
      false,
    ])
  })
})

describe('a report', () => {
  const event = (kind: string, data: unknown) =>
    ({ id: 1, at: 'x', kind, actor: { id: 'u1', name: 'CTO' }, subject: {}, data }) as Schemas['Event']
  it('has its kind, its author and its text', () =>
    expect(reportOf(event('task.reported', { report: 'blocker', text: 'No access' }))).toMatchObject({
      kind: 'blocker',
      name: 'CTO',
      author: 'u1',
      agent: null,
      text: 'No access',
    }))
  it('is also what an agent said at the end', () =>
    expect(reportOf(event('task.dispatch_ended', { answer: 'Done.', dispatch: { agent_id: 'cto' } }))).toMatchObject({
      kind: 'answer',
      agent: 'cto',
      text: 'Done.',
    }))
  it.each([
    ['task.dispatch_ended', { dispatch: { agent_id: 'cto' } }],
    ['task.reported', { report: 'strange' }],
    ['task.changed', { report: 'done' }],
    ['task.reported', null],
  ])('is not in %s %j', (kind, data) => expect(reportOf(event(kind, data))).toBeNull())
})

describe('the sessions of a task', () => {
  const session = (key: string) => ({ key }) as Session
  const rows = [
    session('agent:cto:task:task-1'),
    session('agent:cto:task:task-12'),
    session('agent:cpo:main'),
    session('agent:cmo:main'),
  ]
  const task = make({ session_key: 'agent:CPO:main' })
  const events = [
    { data: { changes: { session_key: [null, 'agent:coo:main'] } } },
    { data: { dispatch: { session_key: 'agent:cto:task:TASK-1' } } },
    { data: null },
  ]
  it('are those of its key, and those that somebody named', () =>
    expect(liveOf(task, rows, events).map(s => s.key)).toEqual(['agent:cto:task:task-1', 'agent:cpo:main']))
  it('are looked for in the archive once under each key', () =>
    expect(keysOf(task, 'cto', liveOf(task, rows, events), events)).toEqual([
      'agent:cpo:main',
      'agent:coo:main',
      'agent:cto:task:task-1',
    ]))
})

// The panel's first words must be the agent's newest.
describe('the latest report', () => {
  const event = (id: number, report: string, text: string) =>
    ({
      id,
      at: '',
      kind: 'task.reported',
      actor: { id: 'u', name: 'CTO' },
      data: { report, text },
    }) as unknown as Schemas['Event']
  it('is the newest with words', () => {
    const events = [event(3, 'ack', ' '), event(2, 'progress', 'Half is done.'), event(1, 'ack', 'I begin.')]
    const isAgent = (author: string | null) => author === 'cto'
    const said = (author_id: string, created_at: string, body: string) =>
      ({ author_id, created_at, body }) as Schemas['TaskComment']
    expect(latestWords(events, [], isAgent)?.text).toBe('Half is done.')
    expect(latestWords([], [said('ada', '9', 'Go on.')], isAgent)).toBeNull()
    const comments = [said('cto', '8', 'May I pay?'), said('ada', '9', 'Yes.')]
    expect(latestWords(events, comments, isAgent)?.text).toBe('May I pay?')
  })
  it('is cut between words only if it is long', () => {
    expect(cutReport('word '.repeat(100))).toBeNull()
    expect(cutReport('word '.repeat(200))).toBe(`${'word '.repeat(100).trim()}…`)
    expect(cutReport('x'.repeat(700))).toBe(`${'x'.repeat(500)}…`)
  })
})
