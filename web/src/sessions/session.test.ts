import { describe, expect, it } from 'vitest'
import { applyTold, RecentEvents } from './liveSessions'
import { arranged, fits, isArchiveId, nameOf, partsOf, type Session } from './session'

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

describe('grouping', () => {
  const rows = [run(1, { active: true }), make({}), run(2), make({ key: 'agent:coo:main', agent_id: 'coo' })]
  const shape = (by: 'agent' | 'kind' | undefined, ...open: string[]) =>
    arranged(rows, { by, open: new Set(open) }).map(i =>
      i.type === 'row' ? i.id : `${i.type} ${i.type === 'job' ? i.job : i.name} ${i.count}/${i.active}`,
    )
  it('puts the runs of a job under it, where the first of them was', () => {
    expect(shape(undefined)).toEqual(['job job1 2/1', 'agent:cto:main', 'agent:coo:main'])
    expect(shape(undefined, 'job1')).toEqual([
      'job job1 2/1',
      'agent:coo:cron:job1:run:1',
      'agent:coo:cron:job1:run:2',
      'agent:cto:main',
      'agent:coo:main',
    ])
  })
  it('keeps them there within their agent or kind', () => {
    expect(shape('agent')).toEqual([
      'group coo 3/1',
      'job job1 2/1',
      'agent:coo:main',
      'group cto 1/0',
      'agent:cto:main',
    ])
    expect(shape('kind')).toEqual([
      'group cron 2/1',
      'job job1 2/1',
      'group main 2/0',
      'agent:cto:main',
      'agent:coo:main',
    ])
  })
})

describe('a job that ran once', () => {
  it('needs no line of its own', () => {
    expect(arranged([run(1)], { by: undefined, open: new Set() }).map(i => i.type)).toEqual(['row'])
  })
})

describe('a session', () => {
  it.each([
    [{}, true],
    [{ agent: 'cto' }, true],
    [{ agent: 'coo' }, false],
    [{ kind: 'cron' }, false],
    [{ state: 'active' as const }, false],
    [{ state: 'resting' as const }, true],
    [{ state: 'stalled' as const }, false],
    [{ q: 'WELL' }, true],
    [{ q: 'agent:CTO' }, true],
    [{ q: 'ill' }, false],
  ])('fits %j: %s', (filters, want) => expect(fits(make({}), filters)).toBe(want))
  it('is named by its label, else by what it is for, else by its key without its agent', () => {
    expect(nameOf(make({ label: 'Release notes' }))).toBe('Release notes')
    expect(nameOf(make({ key: 'agent:CTO:task:task-7' }))).toBe('TASK-7')
    expect(nameOf(make({ key: 'agent:CTO:task:task-7', label: 'task:task-7' }))).toBe('TASK-7')
    expect(nameOf(make({ key: 'agent:cto:standup:2026-11-20', label: 'standup:2026-11-20' }))).toBe(
      'Standup of 2026-11-20',
    )
    expect(nameOf(make({ key: 'agent:cto:standup:2026-11-20:web' }))).toBe('Standup of 2026-11-20')
    expect(nameOf(make({ key: 'agent:cto:standup:notes' }))).toBe('standup:notes')
    expect(nameOf(make({ key: 'agent:cto:main' }))).toBe('Main session')
    expect(nameOf(make({ key: 'agent:cto:subagent:5f2' }))).toBe('Sub-agent')
    expect(nameOf(make({ key: 'agent:cto:cron:b1:run:2' }))).toBe('Job run')
    expect(nameOf(make({ key: 'global', agent_id: '' }))).toBe('global')
  })
  it('says by its key what it is for', () => {
    expect(partsOf('agent:cto:task:web-12')).toEqual({ task: 'WEB-12' })
    expect(partsOf('agent:cto:cron:AB:run:1')).toEqual({ job: 'ab' })
    expect(partsOf('agent:cto:main')).toEqual({})
  })
  it('of the archive has another kind of name', () => {
    expect(isArchiveId('0199f0a2-1c3d-7000-8000-00aa00bb00cc')).toBe(true)
    expect(isArchiveId('agent:cto:subagent:0199f0a2-1c3d-7000-8000-00aa00bb00cc')).toBe(false)
  })
})
