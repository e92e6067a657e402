import { describe, expect, it } from 'vitest'
import type { Schemas } from '../api/client'
import { headline } from '../app/headline'
import type { TaskCard } from '../tasks/task'
import { activityOf } from './activity'
import { failedRuns, failuresOf } from './failures'
import { toReview } from './reviewTasks'
import { burn, until, usd } from './spend'
import { agentsFact, blockedFact, standupFact } from './statusFacts'
import { currentTask, sessionOf } from './tile'
import { clock, clocks } from './time'
import { counts, hourOf, madeUp, marks, marksOf, reach, type Slot, troublesOf, within } from './timelineSlots'

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
  ])('of agents %#', (agents, want, state = 'connected') =>
    expect(agentsFact(agents, { state } as Schemas['GatewayStatus'])).toBe(want),
  )
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

const slot = (due: string, state: Slot['state'], name = 'daily'): Slot => ({
  agent_id: 'coo',
  deadline_at: due,
  due_at: due,
  job_id: 'j',
  judged_at: null,
  name,
  reason: '',
  started_at: null,
  state,
})

// A missed run must be visible among many that succeeded.
describe('the ribbon', () => {
  it('has now in its middle and nothing beyond its ends', () => {
    const list = [
      slot('2026-11-20T14:30:00Z', 'pending'),
      slot('2026-11-20T02:30:00.001Z', 'on_time'),
      slot('2026-11-21T02:29:59Z', 'pending'),
      slot('2026-11-20T02:30:00Z', 'missed'),
      slot('2026-11-21T02:30:00Z', 'pending'),
    ]
    expect(marksOf(list, now).map(m => m.at)).toEqual([0, marks / 2, marks - 1])
    expect(within(list, now).map(s => s.due_at)).toEqual([
      '2026-11-20T02:30:00.001Z',
      '2026-11-20T14:30:00Z',
      '2026-11-21T02:29:59Z',
    ])
  })
  it('shows the worst of what is due together', () => {
    const at = '2026-11-20T10:00:00Z'
    const states = ['on_time', 'late', 'missed', 'failed', 'skipped'] as const
    const [mark] = marksOf(
      states.map(s => slot(at, s)),
      now,
    )
    expect(mark?.worst).toBe('missed')
    expect(mark?.slots).toHaveLength(5)
    expect(marksOf([slot(at, 'pending'), slot(at, 'on_time')], now)[0]?.worst).toBe('on_time')
  })
  it('counts the states, the worst first', () => {
    const at = '2026-11-20T10:00:00Z'
    expect(counts([slot(at, 'pending'), slot(at, 'failed'), slot(at, 'pending')])).toEqual([
      { state: 'failed', n: 1 },
      { state: 'pending', n: 2 },
    ])
  })
  it('asks for no act that was done: a good run since makes up for what went wrong', () => {
    const list = [
      slot('2026-11-20T02:15:00Z', 'failed'),
      { ...slot('2026-11-20T03:00:00Z', 'missed', 'backup'), job_id: 'k' },
      { ...slot('2026-11-20T04:00:00Z', 'missed', 'report'), job_id: 'm' },
      { ...slot('2026-11-20T05:00:00Z', 'on_time', 'report'), job_id: 'm' },
      { ...slot('2026-11-20T06:00:00Z', 'missed', 'mail'), job_id: 'n' },
    ]
    const run = (status: 'ok' | 'error', started_at: string, ended_at: string) => ({ status, started_at, ended_at })
    const runs = new Map([
      [
        'j',
        [
          run('ok', '2026-11-20T05:10:00Z', '2026-11-20T05:15:00Z'),
          run('ok', '2026-11-20T04:00:00Z', '2026-11-20T04:01:00Z'),
        ],
      ],
      [
        'k',
        [
          run('error', '2026-11-20T04:00:00Z', '2026-11-20T04:01:00Z'),
          run('ok', '2026-11-20T02:59:00Z', '2026-11-20T03:01:00Z'),
        ],
      ],
    ])
    const seen = madeUp(list, runs)
    expect(seen.map(s => s.state)).toEqual(['made_up', 'missed', 'missed', 'on_time', 'missed'])
    expect(seen[0]?.made_up_at).toBe('2026-11-20T04:01:00Z')
    // A job that succeeded later needs no action.
    expect(troublesOf(seen).map(s => [s.job_id, s.state])).toEqual([
      ['n', 'missed'],
      ['k', 'missed'],
      ['j', 'made_up'],
    ])
    expect(counts(seen)[0]).toEqual({ state: 'missed', n: 3 })
  })
  it('is asked for by the hour', () => {
    expect(hourOf(now)).toBe(Date.parse('2026-11-20T14:00:00Z'))
    expect(reach).toBe(12 * 3_600_000)
  })
})

describe('the week before', () => {
  const hours = (of: [string, string | null, number, number][]) =>
    of.map(([start, cost_usd, runs, unpriced_runs]) => ({
      start,
      cost_usd,
      runs,
      unpriced_runs,
    })) as Schemas['UsageSlot'][]
  it('is summed to the last digit, until the hour that it is now', () => {
    const series = hours([
      ['2026-11-13T07:00:00Z', '0.100000001', 1, 0],
      ['2026-11-13T12:00:00Z', '0.2', 2, 1],
      ['2026-11-13T14:00:00Z', '9', 1, 0],
    ])
    expect(until(series, 15, 'Europe/Berlin')).toEqual({ cost_usd: '0.300000001', runs: 3, unpriced_runs: 1 })
  })
  it('is unpriced, and not nothing, when none of it has a price', () => {
    expect(until(hours([['2026-11-13T07:00:00Z', null, 2, 2]]), 15, 'UTC').cost_usd).toBeNull()
    expect(until(hours([['2026-11-13T07:00:00Z', '0', 0, 0]]), 15, 'UTC').cost_usd).toBe('0.000000000')
  })
  it('keeps its sign', () => {
    expect(usd(-1_500_000_000n)).toBe('-1.500000000')
  })
})

describe('the burn', () => {
  const readAt = now - 600_000
  const report = {
    from: '2026-11-20T13:20:00Z',
    to: '2026-11-20T14:20:00Z',
    ledger_begins_at: '2026-11-01T00:00:00Z' as string | null,
    followed_since: '2026-11-01T00:00:00Z' as string | null,
    groups: [{ key: 'cto', cost_usd: '1.5', runs: 2, unpriced_runs: 0 }] as Schemas['UsageShare'][],
  }
  const of = (agent_id: string, in_runtime: boolean | null = true, state: 'active' | 'idle' = 'idle') => ({
    agent_id,
    in_runtime,
    presence: { state },
  })
  it('of an agent that works is unknown while nothing of it has ended', () => {
    expect(burn(report, of('coo', true, 'active'), readAt, now)).toBeNull()
    expect(burn(report, of('cto', true, 'active'), readAt, now)?.cost_usd).toBe('1.5')
  })
  it('is of the last hour alone', () => {
    expect(burn(report, of('cto'), readAt, now)?.cost_usd).toBe('1.5')
    expect(burn(report, of('coo'), readAt, now)).toMatchObject({ cost_usd: '0', runs: 0 })
    expect(burn(report, of('cto'), now - 3_600_000, now)).toMatchObject({ cost_usd: '0', runs: 0 })
  })
  it('of an agent without a row is unknown where nobody can say that it spent nothing', () => {
    expect(burn(report, of('coo', null), readAt, now)).toBeNull()
    expect(burn(report, of('coo', false), readAt, now)).toBeNull()
    for (const begins of [null, '2026-11-20T14:25:00Z', '2026-11-20T14:00:00Z']) {
      const late = { ...report, ledger_begins_at: begins }
      expect(burn(late, of('coo'), readAt, now)).toBeNull()
      expect(burn(late, of('cto'), readAt, now)?.cost_usd).toBe('1.5')
    }
    const kept = { ...report, followed_since: '2026-11-20T14:00:00Z' }
    expect(burn(kept, of('coo'), readAt, now)).toBeNull()
    const rest = { ...report.groups[0], key: null, rest: true } as Schemas['UsageShare']
    expect(burn({ ...report, groups: [...report.groups, rest] }, of('coo'), readAt, now)).toBeNull()
    expect(burn(report, of('cto', null), readAt, now)?.cost_usd).toBe('1.5')
  })
})

describe('failures', () => {
  const event = (
    id: number,
    kind: string,
    at: string,
    of: { actor?: string; item?: string; about?: string; last?: string; title?: string } = {},
  ) =>
    ({
      id,
      kind,
      at,
      actor: { id: of.actor ?? 'system', name: '' },
      subject: { kind: 'inbox', id: of.about ?? 'i1', name: '' },
      data: {
        item: {
          id: of.about ?? 'i1',
          kind: of.item ?? 'job_failed',
          title: of.title ?? 'The job Backup failed',
          last_at: of.last ?? at,
        },
        changes: {},
      },
    }) as Schemas['Event']
  it('are counted by cause, the most first, for a day, and people’s deeds are none', () => {
    const events = [
      event(7, 'inbox.reopened', '2026-11-20T14:00:00Z', { actor: 'u1' }),
      event(6, 'inbox.repeated', '2026-11-20T13:00:00Z'),
      event(5, 'inbox.raised', '2026-11-20T12:30:00Z', { about: 'i4', title: 'The job Report failed' }),
      event(4, 'inbox.raised', '2026-11-20T12:00:00Z', { item: 'standup_failed', about: 'i2', title: 'S' }),
      event(3, 'inbox.raised', '2026-11-20T11:00:00Z', { item: 'escalation', about: 'i3' }),
      event(1, 'inbox.raised', '2026-11-20T10:00:00Z'),
      event(0, 'inbox.raised', '2026-11-19T14:29:59Z'),
    ]
    const resolved = false
    // Two failing jobs are two causes of the same kind.
    expect(failuresOf(events, now)).toEqual([
      {
        kind: 'job_failed',
        title: 'The job Backup failed',
        count: 2,
        last: '2026-11-20T13:00:00Z',
        item: 'i1',
        resolved,
      },
      {
        kind: 'job_failed',
        title: 'The job Report failed',
        count: 1,
        last: '2026-11-20T12:30:00Z',
        item: 'i4',
        resolved,
      },
      { kind: 'standup_failed', title: 'S', count: 1, last: '2026-11-20T12:00:00Z', item: 'i2', resolved },
    ])
  })
  it('that are resolved come last, until they happen again', () => {
    const events = [
      event(5, 'inbox.resolved', '2026-11-20T13:30:00Z', { actor: 'u1' }),
      event(4, 'inbox.raised', '2026-11-20T12:30:00Z', { about: 'i4' }),
      event(2, 'inbox.repeated', '2026-11-20T12:00:00Z'),
      event(1, 'inbox.raised', '2026-11-20T10:00:00Z'),
    ]
    const brief = (of: typeof events) => failuresOf(of, now).map(f => [f.item, f.resolved])
    expect(brief(events)).toEqual([
      ['i4', false],
      ['i1', true],
    ])
    expect(brief([event(6, 'inbox.reopened', '2026-11-20T14:00:00Z'), ...events])).toEqual([
      ['i1', false],
      ['i4', false],
    ])
  })
  it('are as old as they are, whenever they were found', () => {
    const events = [
      event(2, 'inbox.raised', '2026-11-20T14:00:00Z', { last: '2026-11-20T02:15:00Z' }),
      event(1, 'inbox.raised', '2026-11-20T14:00:00Z', {
        item: 'job_missed',
        about: 'i2',
        last: '2026-11-19T02:15:00Z',
      }),
    ]
    expect(failuresOf(events, now)).toMatchObject([{ count: 1, last: '2026-11-20T02:15:00Z', item: 'i1' }])
  })
  it('have the runs in them that nobody else tells of', () => {
    const run = (id: string, key: string, status: string, ended_at: string | null, active = false) => ({
      id,
      key,
      agent_id: 'cto',
      status,
      active,
      last_at: '2026-11-20T14:10:00Z',
      ended_at,
    })
    const sessions = [
      run('a', 'agent:cto:main', 'failed', '2026-11-20T13:00:00Z'),
      run('b', 'agent:cto:subagent:1', 'failed', '2026-11-20T14:00:00Z'),
      run('c', 'agent:cto:custom', 'timeout', null),
      run('d', 'agent:cto:cron:backup', 'failed', '2026-11-20T13:00:00Z'),
      run('e', 'agent:cto:task:TASK-1', 'failed', '2026-11-20T13:00:00Z'),
      run('f', 'agent:cto:standup:2026-11-20', 'timeout', '2026-11-20T13:00:00Z'),
      run('g', 'agent:cto:old', 'failed', '2026-11-19T13:00:00Z'),
      run('h', 'agent:cto:fine', 'done', '2026-11-20T13:00:00Z'),
      run('i', 'agent:cto:going', 'failed', null, true),
    ]
    expect(failedRuns(sessions, now)).toEqual([
      { status: 'failed', agent: 'cto', count: 2, last: '2026-11-20T14:00:00Z', session: 'b' },
      { status: 'timeout', agent: 'cto', count: 1, last: '2026-11-20T14:10:00Z', session: 'c' },
    ])
  })
})

describe('a tile', () => {
  const task = (key: string, of: object = {}) =>
    ({
      key,
      status: 'in_progress',
      assignee_id: 'u1',
      claim: null,
      moved_at: '1',
      archived_at: null,
      ...of,
    }) as Schemas['TaskCard']
  const session = (key: string, of: object = {}) =>
    ({ key, agent_id: 'cto', active: true, updated_at: '1', started_at: '1', ...of }) as Schemas['Session']
  it('shows the session that goes on, else the one that was last in use', () => {
    const list = [session('a', { active: false, updated_at: '3' }), session('b'), session('c', { agent_id: 'coo' })]
    expect(sessionOf('cto', list)?.key).toBe('b')
    expect(sessionOf('cto', [list[0] as Schemas['Session']])?.key).toBe('a')
    expect(sessionOf('cmo', list)).toBeUndefined()
  })
  it('shows the task of that session, else what it holds, else what it began last', () => {
    const tasks = [
      task('TASK-1', { moved_at: '1' }),
      task('TASK-2', { moved_at: '2' }),
      task('TASK-3', { assignee_id: 'u2', claim: { by: 'u1' } }),
      task('TASK-4', { status: 'done', claim: { by: 'u1' } }),
    ]
    expect(currentTask('u1', tasks, session('agent:cto:task:task-1'))?.key).toBe('TASK-1')
    expect(currentTask('u1', tasks, session('agent:cto:main'))?.key).toBe('TASK-3')
    expect(currentTask('u1', tasks.slice(0, 2), undefined)?.key).toBe('TASK-2')
    expect(currentTask('u3', tasks, undefined)).toBeUndefined()
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

// Times in different time zones must be labeled.
describe('a time of day', () => {
  const at = '2026-11-20T05:06:00Z'

  it('is in the zone of whoever looks, and names the service\u2019s where that is another', () => {
    const mine = clock(at, undefined)
    expect(clocks(at, undefined)).toBe(mine)
    expect(clocks(at, Intl.DateTimeFormat().resolvedOptions().timeZone)).toBe(mine)
    expect(clocks(at, 'Asia/Kathmandu')).toBe(`${mine} (10:51 Asia/Kathmandu)`)
  })
})

// A review must not stand twice, nor hide behind newer ones.
describe('the tasks to review', () => {
  const task = (key: string, moved_at: string, of: Partial<TaskCard> = {}) =>
    ({ key, moved_at, status: 'review', archived_at: null, ...of }) as TaskCard
  it('are those without an item, longest waiting first', () => {
    const tasks = [
      task('TASK-1', '2026-11-20T10:00:00Z'),
      task('TASK-2', '2026-11-20T08:00:00Z'),
      task('TASK-3', '2026-11-18T08:00:00Z'),
      task('TASK-4', '2026-11-19T08:00:00Z', { status: 'done' }),
      task('TASK-5', '2026-11-19T08:00:00Z', { archived_at: '2026-11-20T08:00:00Z' }),
    ]
    expect(toReview(tasks, new Set(['TASK-3'])).map(t => t.key)).toEqual(['TASK-2', 'TASK-1'])
  })
})

// A reader must learn who did what, and reach it.
describe('the recent activity', () => {
  const event = (kind: string, data: object, subject = { kind: 'task', id: 't1', name: 'TASK-1' }) =>
    ({ id: 1, at: '', kind, actor: { id: 'u', name: 'Ada' }, subject, data }) as Schemas['Event']
  const people = new Map([['u2', { id: 'u2', name: 'CTO', agent: 'cto', active: true }]])
  const told = (e: Schemas['Event']) => {
    const d = activityOf(e, people)
    return d && [`${d.who} ${d.deed} ${d.what} ${d.after}`.trim(), d.href]
  }
  it('names moves, but no other changes', () => {
    const href = '/tasks?task=TASK-1'
    const moved = event('task.changed', { changes: { status: ['todo', 'review'] } })
    expect(told(moved)).toEqual(['Ada moved TASK-1 to Review', href])
    expect(told(event('task.changed', { changes: { title: ['a', 'b'] } }))).toBeNull()
    expect(told(event('task.spent', {}))).toBeNull()
    const ended = event('task.dispatch_ended', { dispatch: { agent_id: 'cto', state: 'failed' } })
    expect(told(ended)).toEqual(['CTO did not complete a run: TASK-1', href])
  })
  it('leads to standups and jobs', () => {
    const job = { kind: 'schedule', id: 'j 1', name: 'Backup' }
    expect(told(event('slot.missed', {}, job))).toEqual(['Backup did not run', '/schedules?job=j%201'])
    const standup = { kind: 'standup', id: 's1', name: 'Standup of today' }
    expect(told(event('standup.completed', {}, standup))).toEqual(['Standup of today completed', '/standups/s1'])
  })
})
