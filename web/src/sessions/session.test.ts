import { describe, expect, it } from 'vitest'
import { costOf } from './Bits'
import { applyTold, RecentEvents } from './liveSessions'
import {
  agentWords,
  byDay,
  fits,
  isArchiveId,
  isRunOfJob,
  lastWords,
  nameOf,
  needsLabel,
  partsOf,
  type Session,
  sessionName,
  standing,
  stopped,
} from './session'

const make = (of: Partial<Session>): Session =>
  ({
    key: 'agent:cto:main',
    agent_id: 'cto',
    kind: 'main',
    label: null,
    last_message: 'All is well',
    active: false,
    stalled: false,
    as_of: '2026-11-20T08:00:00.000Z',
    ...of,
  }) as Session
const run = (n: number, of: Partial<Session> = {}) =>
  make({ key: `agent:coo:cron:job1:run:${n}`, agent_id: 'coo', kind: 'cron', ...of })

describe('the list', () => {
  // Frames may arrive out of order, and a list may be older than a frame before it.
  it('takes a row that is newer, and leaves one that is older', () => {
    const rows = [make({})]
    expect(applyTold(rows, { row: make({ as_of: '2026-11-20T07:00:00.000Z', active: true }) })).toBe(rows)
    const newer = make({ key: 'agent:CTO:Main', as_of: '2026-11-20T09:00:00.000Z', active: true })
    expect(applyTold(rows, { row: newer })).toEqual([newer])
  })
  it('gets what is new, and loses what is gone, however its key is written', () => {
    const two = applyTold([make({})], { row: run(1) })
    expect(two.map(r => r.key)).toEqual(['agent:coo:cron:job1:run:1', 'agent:cto:main'])
    expect(applyTold(two, { gone: 'AGENT:cto:main' })).toHaveLength(1)
  })
  it('remembers what came while it was read', () => {
    const lately = new RecentEvents<number>()
    lately.note(1)
    const now = performance.now()
    lately.note(2)
    expect(lately.since(0)).toEqual([1, 2])
    expect(lately.since(now)).toContain(2)
  })
})

describe('the list by day', () => {
  const now = Date.parse('2026-11-20T12:00:00')
  const on = (day: string, row: Session) => ({ ...row, updated_at: new Date(`${day}T10:00:00`).toISOString() })
  const rows = [
    on('2026-11-20', run(1)),
    on('2026-11-20', make({})),
    on('2026-11-20', run(2)),
    on('2026-11-19', run(3)),
    on('2026-11-15', make({ key: 'agent:coo:main' })),
  ]
  const shape = (...open: string[]) =>
    byDay(rows, { idOf: r => r.key, atOf: r => r.updated_at, open: new Set(open), now }).map(i => {
      if (i.type === 'head') return `${i.name} ${i.count}`
      return i.type === 'job' ? `${i.job} ${i.rows.length}` : i.id
    })
  it('has several runs of a job on a day in one row, where the newest was', () => {
    expect(shape()).toEqual([
      'Today 3',
      'job1 2',
      'agent:cto:main',
      'Yesterday 1',
      'agent:coo:cron:job1:run:3',
      'Sunday 15 Nov 1',
      'agent:coo:main',
    ])
  })
  it('shows the runs of the day that is opened', () => {
    expect(shape('job1@2026-11-20').slice(1, 4)).toEqual([
      'job1 2',
      'agent:coo:cron:job1:run:1',
      'agent:coo:cron:job1:run:2',
    ])
  })
})

// A session that was stopped, deleted, or reset must never look as if an agent worked in it.
describe('the status', () => {
  it.each([
    [{ active: true }, 'active'],
    [{ active: true, stalled: true }, 'stalled'],
    [{ active: true, ended: 'deleted' as const }, 'rests'],
    [{ active: true, present: false }, 'rests'],
    [{ active: true, ended: 'rests' as const, present: true }, 'active'],
    [{ active: false, status: 'killed' }, 'killed'],
    [{ active: false, status: 'running' }, 'rests'],
  ])('of %j is %s', (of, want) => expect(standing({ status: null, ...of })).toBe(want))
  it('of a session is stopped as soon as it was stopped', () => {
    const now = stopped(make({ active: true, stalled: true, active_run_id: 'r1', status: 'running' }))
    expect(standing(now)).toBe('killed')
    expect(now.active_run_id).toBeNull()
  })
})

describe('a session', () => {
  it.each([
    [{}, true],
    [{ agent: 'cto' }, true],
    [{ agent: 'coo' }, false],
    [{ kind: 'cron' }, false],
    [{ state: 'active' as const }, false],
    [{ state: 'failed' as const }, false],
    [{ state: 'stalled' as const }, false],
    [{ q: 'WELL' }, true],
    [{ q: 'agent:CTO' }, true],
    [{ q: 'ill' }, false],
  ])('fits %j: %s', (filters, want) => expect(fits(make({}), filters)).toBe(want))
  it('is named by its label, else by what it is for, else by its key without its agent', () => {
    expect(nameOf(make({ label: 'Release notes' }))).toBe('Release notes')
    expect(nameOf(make({ key: 'agent:CTO:task:task-7' }))).toBe('TASK-7')
    expect(nameOf(make({ key: 'agent:CTO:task:task-7', label: 'task:task-7' }))).toBe('TASK-7')
    expect(nameOf(make({ key: 'agent:cto:standup:2026-11-20', label: 'standup:2026-11-20' }))).toBe('Standup, 20 Nov')
    expect(nameOf(make({ key: 'agent:cto:standup:2026-11-20:web' }))).toBe('Standup, 20 Nov')
    expect(nameOf(make({ key: 'agent:cto:standup:notes' }))).toBe('standup:notes')
    expect(nameOf(make({ key: 'agent:cto:main' }))).toBe('Main session')
    expect(nameOf(make({ key: 'agent:cto:subagent:5f2' }))).toBe('Sub-agent')
    expect(nameOf(make({ key: 'agent:cto:cron:b1:run:2' }))).toBe('Job run')
    expect(nameOf(make({ key: 'agent:cto:cron:b1:run:2', label: 'Automation: Backup' }))).toBe('Backup')
    expect(nameOf(make({ key: 'global', agent_id: '' }))).toBe('global')
  })
  it('has last words without Markdown, and never the instructions that Wardroom wrote', () => {
    expect(lastWords(make({ last_message: '**Done.** `ok`' }))).toBe('Done. ok')
    expect(lastWords(make({ last_message: null }))).toBe('')
    for (const last_message of [
      "You are assigned task TASK-7 on your team's board. Work on it now",
      'Give your standup report for 2026-11-20. Answer in Markdown',
      'You lead the standup of 2026-11-20. Review the reports',
    ])
      expect(lastWords(make({ last_message }))).toBe('Received its instructions')
  })
  it.each([
    ['assistant', true, 'On it'],
    ['user', true, 'Asked: On it'],
    [null, true, ''],
    [null, false, 'On it'],
    ['user', false, 'Asked: On it'],
  ] as const)('has words of the agent only if it wrote them: by %s, active %s', (last_message_by, active, want) =>
    expect(agentWords(make({ last_message: 'On it', last_message_by, active }))).toBe(want),
  )
  it('is called by its task or job on all pages', () => {
    const names = { titles: new Map([['TASK-7', 'Renew it']]), jobs: new Map([['b1', 'Backup']]) }
    expect(sessionName(make({ key: 'agent:cto:task:task-7', label: 'x' }), names)).toBe('Renew it')
    expect(sessionName(make({ key: 'agent:cto:cron:b1:run:2', label: 'Automation: Old name' }), names)).toBe('Backup')
    expect(sessionName(make({ key: 'agent:cto:subagent:5f2', label: 'Compare plans' }), names)).toBe('Compare plans')
    expect(['agent:cto:subagent:5f2', 'agent:cto:main', 'agent:cto:task:task-7'].map(needsLabel)).toEqual([
      true,
      false,
      false,
    ])
  })
  it('says by its key what it is for', () => {
    expect(partsOf('agent:cto:task:web-12')).toEqual({ task: 'WEB-12' })
    expect(partsOf('agent:cto:cron:AB:run:1')).toEqual({ job: 'ab' })
    expect(partsOf('agent:cto:main')).toEqual({})
  })
  it('of the archive has another kind of name', () => {
    expect(isArchiveId('0199f0a2-1c3d-7000-8000-00aa00bb00cc')).toBe(true)
    expect(isArchiveId('agent:cto:subagent:0199f0a2-1c3d-7000-8000-00aa00bb00cc')).toBe(false)
    expect(isRunOfJob('agent:cto:cron:b1:run:0199f0a2-1c3d-7000-8000-00aa00bb00cc')).toBe(true)
    expect(isRunOfJob('agent:cto:cron:b1')).toBe(false)
  })
})

// What isn't counted yet must not look free.
it('of an active run has no cost before its first step, and then that of its steps', () => {
  const going = { active: true, cost_usd: null, cost_complete: null }
  expect(costOf(make(going))).toBe('–')
  expect(costOf(make({ ...going, cost_usd: '0.25', cost_complete: true }))).toBe('$0.25')
})
