import { describe, expect, it } from 'vitest'
import { localTimes } from '../app/localTimes'
import type { Person } from '../app/queries'
import { clock } from '../app/time'
import { deedOf, noteOf } from './historyText'
import {
  type Action,
  actsOf,
  grouped,
  looks,
  maySnooze,
  needs,
  snoozes,
  sorted,
  subjectHref,
  type Told,
  taskOf,
  wayBack,
} from './item'
import { fits } from './itemFilters'
import { errorOf, reasonOf } from './reason'

const make = (of: Partial<Told>): Told => ({
  id: 'a',
  kind: 'escalation',
  severity: 'high',
  title: 'The card has expired',
  subject: { kind: 'task', id: 't1', name: 'TASK-7' },
  run: null,
  effect: null,
  count: 1,
  first_at: '2026-11-20T08:00:00.000Z',
  last_at: '2026-11-20T08:00:00.000Z',
  state: 'open',
  snoozed_until: null,
  assignee: null,
  resolution: null,
  version: 1,
  ...of,
})
const ada = { id: 'u1', name: 'Ada' }
const people = new Map<string, Person>([
  ['u1', { ...ada, agent: null, active: true }],
  ['u2', { id: 'u2', name: 'Ben', agent: null, active: true }],
])
const now = new Date('2026-11-20T09:00:00.000Z')

// The most urgent items must come first.
describe('the rank', () => {
  it('is a repeating run, then severity, the longest wait, and the id, as the service has it', () => {
    const list = [
      make({ id: 'd', severity: 'low', first_at: '2026-11-01T00:00:00.000Z' }),
      make({ id: 'c', severity: 'high', first_at: '2026-11-20T07:00:00.000Z' }),
      make({ id: 'b', severity: 'high', first_at: '2026-11-19T07:00:00.000Z' }),
      make({ id: 'a', severity: 'urgent', first_at: '2026-11-20T08:59:00.000Z' }),
      make({ id: 'bb', severity: 'high', first_at: '2026-11-19T07:00:00.000Z' }),
      make({ id: 'l', kind: 'loop', severity: 'urgent', first_at: '2026-11-20T08:59:30.000Z' }),
    ]
    expect(sorted(list, undefined).map(i => i.id)).toEqual(['l', 'a', 'b', 'bb', 'c', 'd'])
  })
  it('gives way to time when one asks for that', () => {
    const list = [
      make({ id: 'a', severity: 'urgent', last_at: '2026-11-20T07:00:00.000Z' }),
      make({ id: 'b', severity: 'low', last_at: '2026-11-20T08:00:00.000Z' }),
    ]
    expect(sorted(list, '-last').map(i => i.id)).toEqual(['b', 'a'])
    expect(sorted(list, 'last').map(i => i.id)).toEqual(['a', 'b'])
  })
})

// Changed items must enter and leave lists by the server's rules.
describe('a filter', () => {
  it.each([
    [{}, {}, true],
    [{}, { state: 'acked' as const }, true],
    [{}, { state: 'snoozed' as const }, false],
    [{}, { state: 'resolved' as const }, false],
    [{ state: 'snoozed,resolved' }, { state: 'resolved' as const }, true],
    [{ state: 'acked' }, {}, false],
    [{ kind: 'job_failed,escalation' }, {}, true],
    [{ kind: 'job_failed' }, {}, false],
    [{ severity: 'urgent,high' }, {}, true],
    [{ severity: 'low' }, {}, false],
    [{ assignee: 'none' }, {}, true],
    [{ assignee: 'none' }, { assignee: ada }, false],
    [{ assignee: 'me' }, { assignee: ada }, true],
    [{ assignee: 'me' }, {}, false],
    [{ assignee: 'u2' }, { assignee: ada }, false],
    [{ assignee: 'u1' }, { assignee: ada }, true],
    [{ assignee: 'ada@example.com' }, { assignee: ada }, true],
  ])('%j of %j: %s', (filters, of, want) => expect(fits(make(of), filters, 'u1', people)).toBe(want))
})

// Now has room for five items; items assigned to others must not take it.
describe('what needs me', () => {
  it.each([
    [{}, true],
    [{ state: 'acked' as const }, false],
    [{ assignee: ada }, true],
    [{ assignee: ada, state: 'acked' as const }, true],
    [{ assignee: ada, state: 'snoozed' as const }, false],
    [{ assignee: { id: 'u2', name: 'Ben' } }, false],
  ])('%j: %s', (of, want) => expect(needs(make(of), 'u1')).toBe(want))
})

// Undo must restore exactly the previous state.
describe('the way back', () => {
  const later = '2026-11-21T09:00:00.000Z'
  const snoozed = make({ state: 'snoozed', snoozed_until: later })
  const resolved = make({ state: 'resolved', resolution: { at: '', by: ada, note: 'paid' } })
  it.each<[string, Told, Action, Action[]]>([
    ['acknowledging what was open', make({}), { do: 'ack' }, [{ do: 'reopen' }]],
    ['acknowledging what was put off', snoozed, { do: 'ack' }, [{ do: 'snooze', until: later }]],
    [
      'a snooze that is over',
      make({ state: 'snoozed', snoozed_until: '2026-11-20T08:59:59.000Z' }),
      { do: 'ack' },
      [{ do: 'reopen' }],
    ],
    [
      'resolving what was acknowledged',
      make({ state: 'acked' }),
      { do: 'resolve', note: 'x' },
      [{ do: 'reopen' }, { do: 'ack' }],
    ],
    [
      'resolving what was put off',
      snoozed,
      { do: 'resolve', note: '' },
      [{ do: 'reopen' }, { do: 'snooze', until: later }],
    ],
    ['snoozing what was acknowledged', make({ state: 'acked' }), { do: 'snooze', until: later }, [{ do: 'ack' }]],
    ['opening what was resolved', resolved, { do: 'reopen' }, [{ do: 'resolve', note: 'paid' }]],
    ['assigning', make({ assignee: ada }), { do: 'assign', to: null }, [{ do: 'assign', to: ada }]],
  ])('from %s', (_, was, action, want) => expect(wayBack(was, action, now)).toEqual(want))
})

describe('a deed', () => {
  it('shows what the service will say', () => {
    const was = make({ state: 'snoozed', snoozed_until: '2026-11-21T09:00:00.000Z' })
    expect(looks(was, { do: 'ack' }, ada, now)).toMatchObject({ state: 'acked', snoozed_until: null })
    expect(looks(was, { do: 'assign', to: ada }, ada, now)).toMatchObject({ state: 'snoozed', assignee: ada })
    expect(looks(was, { do: 'resolve', note: 'n' }, ada, now)).toMatchObject({
      state: 'resolved',
      snoozed_until: null,
      resolution: { by: ada, note: 'n' },
    })
  })
})

describe('a snooze', () => {
  it('ends in the morning of tomorrow and of Monday, where one is', () => {
    const friday = new Date(2026, 10, 20, 15, 30)
    const at = new Map(snoozes(friday).map(s => [s.id, s.until]))
    expect(at.get('tomorrow')).toEqual(new Date(2026, 10, 21, 8))
    expect(at.get('monday')).toEqual(new Date(2026, 10, 23, 8))
    expect(at.get('hour')).toEqual(new Date(2026, 10, 20, 16, 30))
  })
  it('has one choice for both on a Sunday, and next week on a Monday', () => {
    expect(snoozes(new Date(2026, 10, 22, 9)).map(s => s.id)).toEqual(['hour', 'three', 'tomorrow', 'week'])
    const monday = snoozes(new Date(2026, 10, 23, 7)).find(s => s.id === 'monday')
    expect(monday?.until).toEqual(new Date(2026, 10, 30, 8))
  })
  it('lies ahead, and 90 days at most', () => {
    expect(maySnooze(new Date(now.getTime()), now)).toBe(false)
    expect(maySnooze(new Date(now.getTime() + 90 * 86_400_000), now)).toBe(true)
    expect(maySnooze(new Date(now.getTime() + 90 * 86_400_000 + 1), now)).toBe(false)
    expect(maySnooze(new Date(Number.NaN), now)).toBe(false)
  })
})

describe('what it is about', () => {
  it('has its place', () => {
    expect(subjectHref(make({}))).toBe('/tasks?task=TASK-7')
    expect(subjectHref(make({ subject: { kind: 'session', id: 'agent:cto:a/b?c', name: '' } }))).toBe(
      '/sessions/agent%3Acto%3Aa%2Fb%3Fc',
    )
    expect(subjectHref(make({ subject: { kind: '', id: '', name: '' } }))).toBeNull()
    // The Gateway page has the doctor and the command that approves a device.
    for (const kind of ['gateway', 'device'])
      expect(subjectHref(make({ subject: { kind, id: 'connection', name: '' } }))).toBe('/settings/gateway')
    // The subject of a missed standup is its job, identified by the team's key.
    expect(
      subjectHref(make({ kind: 'standup_missed', subject: { kind: 'schedule', id: 'executive', name: 'daily' } })),
    ).toBe('/standups')
  })
})

// Each kind must lead to what settles it, and only for those who may.
describe('the actions on an item', () => {
  const known = { session_key: 'agent:cto:cron:j', run_id: '' }
  const of = (
    kind: Told['kind'],
    { id = 'x', state = 'open' as Told['state'], lead = true, run = known as Told['run'] } = {},
  ) => actsOf(make({ kind, state, run, subject: { kind: '', id, name: 'n' } }), { lead })
  it.each([
    ['escalation', ['decide']],
    ['old_blocker', ['decide']],
    ['task_blocked', ['decide']],
    ['task_review', ['approve', 'sendBack']],
    ['job_failed', ['runJob', 'openRun']],
    ['job_missed', ['runJob']],
    ['job_undelivered', ['openRun']],
    ['job_unlisted', ['openRun']],
    ['run_stalled', ['openSession', 'stopSession']],
    ['loop', ['stopSession', 'openSession']],
    ['dispatch_failed', ['dispatch', 'openRun']],
    ['standup_failed', ['retryStandup']],
    ['standup_missed', ['runStandup']],
    ['gateway_trouble', ['testConnection']],
    ['login_ending', []],
    ['gateway_disk', []],
    ['pairing_pending', ['testConnection']],
    ['spend_unusual', ['openSpend']],
    ['agent_file', ['message']],
    ['model_changed', ['openRun']],
    ['limit_reached', []],
  ] as const)('%s: %j', (kind, want) => expect(of(kind)).toEqual(want))
  it('are none once it is resolved, and none on a subject or run that is unknown', () => {
    expect(of('job_failed', { state: 'snoozed' })).toEqual(['runJob', 'openRun'])
    expect(of('job_failed', { state: 'resolved' })).toEqual([])
    expect(of('job_failed', { id: '' })).toEqual(['openRun'])
    expect(of('job_failed', { run: null })).toEqual(['runJob'])
    expect(of('escalation', { id: '' })).toEqual(['decide'])
  })
  it('keep stopped only what a limit stopped or held', () => {
    const acts = (effect: Told['effect'], limit?: { measure: 'usd' | 'calls' }) =>
      actsOf(make({ kind: 'limit_reached', effect }), { lead: true, limit })
    expect(acts(null, { measure: 'usd' })).toEqual(['allowMore', 'raiseLimit'])
    expect(acts('stopped', { measure: 'usd' })).toEqual(['allowMore', 'raiseLimit', 'keepStopped'])
    expect(acts('held', { measure: 'calls' })).toEqual(['raiseLimit', 'keepStopped'])
  })
  it('change a limit only while it exists', () => {
    const item = make({ kind: 'limit_reached', effect: 'stopped' })
    expect(actsOf(item, { lead: true })).toEqual(['keepStopped'])
    expect(actsOf(item, { lead: false, limit: { measure: 'usd' } })).toEqual(['keepStopped'])
  })
  it('leave out what only the owner and admins may do', () => {
    expect(of('run_stalled', { lead: false })).toEqual(['openSession'])
    expect(of('job_failed', { lead: false })).toEqual(['openRun'])
    expect(of('task_review', { lead: false })).toEqual(['approve', 'sendBack'])
  })
})

describe('the groups', () => {
  it('are by urgency, and each keeps its order', () => {
    const list = [
      make({ id: 'a', severity: 'urgent' }),
      make({ id: 'b', severity: 'low' }),
      make({ id: 'c', severity: 'low' }),
    ]
    expect(grouped(list).map(g => [g.severity, g.items.map(i => i.id)])).toEqual([
      ['urgent', ['a']],
      ['low', ['b', 'c']],
    ])
  })
})

describe('the reason of an item', () => {
  const last_at = '2026-11-23T06:00:00.000Z'
  it('is the first sentence of its details, in one line', () => {
    const detail = '## Why\n\nThe **card** has\nexpired. Somebody has to pay.'
    expect(reasonOf({ title: 'Stuck', detail, last_at })).toBe('The card has expired.')
  })
  it('is nothing while the details are unknown, or if they repeat the title', () => {
    expect(reasonOf({ title: 'Stuck', last_at })).toBeNull()
    expect(reasonOf({ title: 'Stuck', detail: '', last_at })).toBeNull()
    expect(reasonOf({ title: 'The card has expired.', detail: 'The card has expired.', last_at })).toBeNull()
  })
  it('leaves out what the title has told', () => {
    const detail = 'TASK-7 Renew, assigned to CTO, has been blocked for 5 days: The card has expired. Decide.'
    expect(reasonOf({ title: 'TASK-7 is stuck: The card has expired', detail, last_at })).toBe(
      'TASK-7 Renew, assigned to CTO, has been blocked for 5 days.',
    )
  })
  it('skips a command that the title has told', () => {
    const title = 'CTO wants to run: git push'
    expect(reasonOf({ title, detail: '```\ngit push\n```\n\nRewrites history.', last_at })).toBe('Rewrites history.')
    expect(reasonOf({ title, detail: '```\ngit push\n```', last_at })).toBeNull()
  })
  it('has its times in the zone of whoever looks, on the day of the item where none is named', () => {
    const at = (iso: string, look: 'time' | 'date') => clock(iso, undefined, look)
    expect(localTimes('Not by 06:05 UTC, due 2026-11-22 23:30 UTC.', last_at)).toBe(
      `Not by ${at('2026-11-23T06:05Z', 'time')}, due ${at('2026-11-22T23:30Z', 'date')}.`,
    )
    expect(localTimes('at 99:99 UTC', last_at)).toBe('at 99:99 UTC')
  })
  it('of a failure is told apart from what follows, while it stands', () => {
    const failed = { ...make({}), kind: 'job_failed' as const, last_at, detail: 'No disk.\n\nThe run failed.' }
    expect(errorOf(failed)).toEqual(['No disk.', 'The run failed.'])
    expect(errorOf({ ...failed, state: 'resolved' })).toEqual(['', failed.detail])
    expect(errorOf({ ...failed, kind: 'escalation' })).toEqual(['', failed.detail])
  })
})

// A reader must learn from the history what happened, not which columns changed.
describe('the history of an item', () => {
  const event = (kind: string, changes: object, item = {}) => ({ kind, at: '', data: { changes, item } })
  it.each([
    ['inbox.reopened', { detail: [1, 2], run: [null, {}], state: ['resolved', 'open'] }, 'reopened the item'],
    ['inbox.assigned', { assignee: [null, { id: 'u', name: 'Ada' }] }, 'assigned the item to Ada'],
    ['inbox.assigned', { assignee: [{ id: 'u', name: 'Ada' }, null] }, 'removed the assignee'],
    ['inbox.repeated', { severity: ['medium', 'high'] }, 'raised the item again, now high'],
    [
      'inbox.snoozed',
      { snoozed_until: [null, '2026-11-23T06:00:00Z'], state: ['open', 'snoozed'] },
      `snoozed the item until ${clock('2026-11-23T06:00:00Z', undefined, 'date')}`,
    ],
    ['inbox.new_kind', {}, 'inbox.new_kind'],
  ])('says of %s in words what was done', (kind, changes, want) => expect(deedOf(event(kind, changes))).toBe(want))
  it('has the note of a resolution', () => {
    expect(noteOf(event('inbox.resolved', {}, { resolution: { note: 'Paid' } }))).toBe('Paid')
    expect(noteOf(event('inbox.acked', {}, { resolution: { note: 'Paid' } }))).toBe('')
  })
})

describe('the task of an item', () => {
  it('is its subject by key, and nothing if it is about something else', () => {
    expect(taskOf(make({}))).toBe('TASK-7')
    expect(taskOf(make({ subject: { kind: 'task', id: 't1', name: '' } }))).toBe('t1')
    expect(taskOf(make({ subject: { kind: 'standup', id: 's', name: 'S' } }))).toBeNull()
  })
})
