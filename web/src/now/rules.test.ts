import { describe, expect, it } from 'vitest'
import type { Schemas } from '../api/client'
import { headline } from '../app/headline'
import type { Told } from '../inbox/item'
import { weekBefore } from './spend'
import { agentsFact, blockedFact, needingFacts, standupFact } from './statusFacts'
import { sessionOf } from './tile'
import { eventRow, hourOf, type Slot, timeline } from './timelineRows'

const now = Date.parse('2026-11-20T14:30:00Z')

function agent(state: 'active' | 'idle' | 'offline' | null, of: { away?: boolean; stalled?: boolean } = {}) {
  const presence = state && {
    state,
    stalled: of.stalled ?? false,
    reason: '',
    since: null,
    age_seconds: null,
    as_of: '',
  }
  return { agent_id: 'cto', presence, in_runtime: of.away ? null : true } as Schemas['Agent']
}

const hold = { reason: 'Too dear', by: 'owner' } as Schemas['AgentHold']

const brief = (of: Partial<Schemas['StandupBrief']>) =>
  ({
    status: 'completed',
    date: '2026-11-20',
    started_at: '2026-11-20T08:00:00Z',
    completed_at: '2026-11-20T08:06:00Z',
    ...of,
  }) as Schemas['StandupBrief']

// Unknown values must not read as zero.
describe('the sentence', () => {
  it.each([
    [undefined, 'agents unknown'],
    [[], 'no agents'],
    [[], 'agents unknown', 'unreachable'],
    [[], 'agents unknown', 'not_configured'],
    [[agent('idle'), agent('idle')], 'no agents active'],
    [[agent('active'), agent('idle')], '1 agent active'],
    [[agent('active'), agent('active', { stalled: true })], '2 agents active (1 stalled)'],
    [[agent('offline', { away: true }), agent('offline', { away: true })], 'agents unknown'],
    [[agent(null), agent('active')], '1 agent active (1 unknown)'],
    [[agent(null)], 'agents unknown'],
    [[agent('offline')], 'no agents active'],
    [[{ ...agent('idle'), hold } as Schemas['Agent'], agent('active')], '1 agent active (1 held)'],
    [[{ ...agent(null), hold } as Schemas['Agent']], 'agents unknown, 1 held'],
  ])('of agents %#', (agents, want, state = 'connected') =>
    expect(agentsFact(agents, { state } as Schemas['GatewayStatus'])).toBe(want),
  )
  it('of agents leaves out those that are told elsewhere', () => {
    const connected = { state: 'connected' } as Schemas['GatewayStatus']
    expect(agentsFact([agent('active'), agent('active')], connected, () => true)).toBe('')
    expect(agentsFact([{ ...agent('active'), hold } as Schemas['Agent']], connected, () => true)).toBe(
      'no agents active (1 held)',
    )
    expect(agentsFact([agent('idle')], connected, () => false)).toBe('no agents active')
  })
  it('of agents, before anybody has said how the gateway is', () =>
    expect(agentsFact([], undefined)).toBe('agents unknown'))

  it.each([
    [undefined, 'blocked tasks unknown'],
    [null, 'blocked tasks unknown'],
    [0, 'no blocked tasks'],
    [1, '1 blocked task'],
    [7, '7 blocked tasks'],
  ])('of %s blocked tasks', (n, want) => expect(blockedFact(n)).toBe(want))

  it.each([
    [undefined, 'last standup unknown'],
    [null, 'no standup yet'],
    [brief({}), 'last standup 09:06'],
    [brief({ completed_at: '2026-11-19T08:06:00Z', date: '2026-11-19' }), 'last standup Thu 09:06'],
    [brief({ completed_at: '2026-11-03T08:06:00Z', date: '2026-11-03' }), 'last standup 3 Nov'],
    [brief({ status: 'error' }), 'last standup failed 09:06'],
    [brief({ status: 'running', completed_at: null }), 'standup running since 09:00'],
    [brief({ status: 'running', started_at: null, completed_at: null }), 'standup opened, not started'],
    [brief({ status: 'error', completed_at: null }), 'last standup failed 2026-11-20'],
  ])('of a standup %#', (last, want) => expect(standupFact(last, now, 'Europe/Berlin')).toBe(want))
})

const slot = (due: string, state: Slot['state'], of: Partial<Slot> = {}): Slot => ({
  agent_id: 'coo',
  deadline_at: due,
  due_at: due,
  job_id: 'J',
  judged_at: null,
  name: 'daily',
  reason: '',
  started_at: null,
  state,
  ...of,
})

const session = (key: string, of: object = {}) =>
  ({
    key,
    agent_id: 'cto',
    label: null,
    status: 'done',
    active: false,
    updated_at: '2026-11-20T13:00:00Z',
    started_at: '2026-11-20T12:59:00Z',
    ...of,
  }) as Schemas['Session']

const event = (kind: string, data: object, subject = { kind: 'task', id: 't1', name: 'TASK-1' }) =>
  ({ id: 1, at: '2026-11-20T11:00:00Z', kind, actor: { id: 'u', name: 'Ada' }, subject, data }) as Schemas['Event']

const people = new Map([['u2', { id: 'u2', name: 'CTO', agent: 'cto', active: true }]])

// A failed or missed run must be visible among many that succeeded, and nothing be told twice.
describe('the timeline', () => {
  const of = (slots: Slot[], sessions: Schemas['Session'][] = [], events: Schemas['Event'][] = []) =>
    timeline({ slots, sessions, events, people }, now)
  const brief = (rows: { what: string; after: string; tone: string }[]) => rows.map(r => [r.what, r.after, r.tone])

  it('has what comes next, soonest first, and what was, latest first, and nothing beyond 12 hours', () => {
    const { next, past } = of(
      [
        slot('2026-11-20T15:00:00Z', 'pending', { name: 'next' }),
        slot('2026-11-20T16:00:00Z', 'pending', { name: 'later' }),
        slot('2026-11-20T02:00:00Z', 'on_time', { name: 'too old' }),
        slot('2026-11-21T03:00:00Z', 'pending', { name: 'too far' }),
        slot('2026-11-20T10:00:00Z', 'on_time', { name: 'was' }),
      ],
      [session('agent:cto:main', { label: 'Chat' })],
      [event('task.changed', { changes: { status: ['todo', 'review'] } })],
    )
    expect(next.map(r => r.what)).toEqual(['next', 'later'])
    expect(past.map(r => r.what)).toEqual(['Chat', 'TASK-1', 'was'])
  })
  it('marks what failed or did not run, and lets nothing be red that recovered', () => {
    const failed = slot('2026-11-20T10:00:00Z', 'failed')
    const missed = slot('2026-11-20T09:00:00Z', 'missed')
    expect(brief(of([failed, missed]).past)).toEqual([
      ['daily', 'failed', 'danger'],
      ['daily', 'did not run', 'danger'],
    ])
    expect(brief(of([failed, slot('2026-11-20T11:00:00Z', 'late')]).past)[1]).toEqual([
      'daily',
      'failed, then recovered',
      'done',
    ])
    const again = session('agent:coo:cron:j:run:1', { label: 'Run' })
    expect(brief(of([failed], [again]).past)).toEqual([
      ['Run', '', 'done'],
      ['daily', 'failed, then recovered', 'done'],
    ])
    const early = { ...again, started_at: '2026-11-20T09:59:00Z' }
    expect(brief(of([failed], [early]).past)[1]?.[1]).toBe('failed')
  })
  it('leads from a slot to its run, which it does not tell again', () => {
    const run = session('agent:coo:cron:j:run:1', { started_at: '2026-11-20T10:00:02Z', status: 'failed' })
    const started = slot('2026-11-20T10:00:00Z', 'failed', { started_at: '2026-11-20T10:00:01Z' })
    const { past } = of([started], [run])
    expect(past.map(r => r.href)).toEqual(['/sessions/agent%3Acoo%3Acron%3Aj%3Arun%3A1'])
    expect(of([started]).past[0]?.href).toBe('/schedules?job=J')
  })
  it('has the runs that ended, with how they ended, and no standup twice', () => {
    const ended = of(
      [],
      [
        session('agent:cto:main', { label: 'a', status: 'timeout' }),
        session('agent:cto:custom', { label: 'b', status: 'killed' }),
        session('agent:cto:going', { label: 'c', active: true }),
        session('agent:cto:standup:2026-11-20', { label: 'd' }),
      ],
    )
    expect(brief(ended.past)).toEqual([
      ['a', 'timed out', 'danger'],
      ['b', 'was stopped', 'idle'],
    ])
  })
  it('is asked for by the hour', () => expect(hourOf(now)).toBe(Date.parse('2026-11-20T14:00:00Z')))
})

// Spend up to 05:59 beside that up to 05:00 looks like a rise.
describe('the week before', () => {
  it.each([
    ['2026-11-20T05:59:40Z', 'UTC', '2026-11-13T05:59:00.000Z'],
    ['2026-11-20T05:59:40Z', 'Asia/Kolkata', '2026-11-13T05:59:00.000Z'],
    // The clocks went back on 25 October and forward on 29 March.
    ['2026-10-28T08:30:00Z', 'Europe/Berlin', '2026-10-21T07:30:00.000Z'],
    ['2026-03-31T22:10:00Z', 'Europe/Berlin', '2026-03-24T23:10:00.000Z'],
  ])('at %s in %s is compared up to %s', (now, zone, want) =>
    expect(new Date(weekBefore(Date.parse(now), zone)).toISOString()).toBe(want),
  )
})

// A title over the words of another session, or a status that is not that of the run below it, misleads.
describe('a tile', () => {
  it.each([
    ['whose run started first', {}, { started_at: '2026-11-20T09:00:00Z' }, 'first'],
    ['that has stalled', {}, { stalled: true, silent_since: '2026-11-20T09:00:00Z' }, 'other'],
    ['that waits for a person', { stalled: true, silent_since: '2026-11-20T09:00:00Z' }, {}, 'other', 'other'],
    ['that is not of a sub-agent', { key: 'agent:cto:subagent:1' }, {}, 'other'],
  ])('shows the session %s, which its status is about', (_, first, other, want, told?: string) => {
    const at = { active: true, stalled: false, silent_since: null, started_at: '2026-11-20T08:00:00Z' }
    const list = [
      session('first', { ...at, ...first }),
      session('other', { ...at, started_at: '2026-11-20T08:30:00Z', ...other }),
    ]
    expect(sessionOf('cto', list, told)?.key).toBe(want)
  })
  it('shows the session that goes on, else the one that was last in use', () => {
    const list = [
      session('a', { updated_at: '3' }),
      session('b', { active: true, updated_at: '1' }),
      session('c', { agent_id: 'coo' }),
    ]
    expect(sessionOf('cto', list)?.key).toBe('b')
    expect(sessionOf('cto', list.slice(0, 1))?.key).toBe('a')
    expect(sessionOf('cmo', list)).toBeUndefined()
  })
})

describe('a headline', () => {
  it.each([
    [null, null],
    ['', null],
    ['## Summary\n\nAll on track. Two risks remain.', 'All on track.'],
    ['- **CTO**: the `build` is red', 'CTO: the build is red'],
    ['v1.2 is out since 9.30 a.m. today! More later.', 'v1.2 is out since 9.30 a.m. today!'],
    [`${'x'.repeat(300)}`, `${'x'.repeat(199)}…`],
  ])('of %j', (summary, want) => expect(headline(summary)).toBe(want))
})

// The headline, the badge, and the rows of Needs you must say the same.
describe('the headline', () => {
  const items = (...kinds: Told['kind'][]) => kinds.map(kind => ({ kind }) as Told)
  it.each([
    [[], false, ['nothing needs you']],
    [['task_review'], false, ['1 thing needs you', '1 review']],
    [
      ['job_failed', ...Array<Told['kind']>(6).fill('task_review')],
      false,
      ['7 things need you', '6 reviews', '1 failed job'],
    ],
    [
      ['loop', 'approval', 'question', 'job_failed', 'escalation', 'escalation', 'job_missed'],
      true,
      ['7+ things need you', '2 decisions', '1 run in a loop', '1 approval', '1 question', '2 more'],
    ],
  ] as [Told['kind'][], boolean, string[]][])('of %j (more: %s)', (kinds, more, want) =>
    expect(needingFacts(items(...kinds), more).map(p => p.text)).toEqual(want),
  )
})

// A reader must learn who did what, and reach it.
describe('an event on the timeline', () => {
  const told = (e: Schemas['Event']) => {
    const r = eventRow(e, people)
    return r && [`${r.who} ${r.deed} ${r.what} ${r.after}`.trim(), r.href]
  }
  it('names moves, but no other changes', () => {
    const moved = event('task.changed', { changes: { status: ['todo', 'review'] } })
    expect(told(moved)).toEqual(['Ada moved TASK-1 to Review', '/tasks?task=TASK-1'])
    expect(told(event('task.changed', { changes: { title: ['a', 'b'] } }))).toBeNull()
    expect(told(event('task.spent', {}))).toBeNull()
  })
  it('leads to standups', () => {
    const standup = { kind: 'standup', id: 's1', name: 'Growth: standup of 2025-11-27' }
    const said = 'Growth: standup of 27 Nov 2025 failed'
    expect(told(event('standup.failed', {}, standup))).toEqual([said, '/standups/s1'])
  })
})
