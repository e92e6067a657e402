import { describe, expect, it } from 'vitest'
import { agents as words } from '../texts/agents'
import { type Agent, type AgentDetails, byUrgency, daysOf, groupsOf, named, repeated, type Spend } from './agent'
import { wordOf } from './Bits'

const agent = (id: string): Agent =>
  ({
    agent_id: id,
    name: id.toUpperCase(),
    emoji: null,
    model: null,
    in_runtime: true,
    account: null,
    presence: null,
  }) as Agent

const team = (facilitator: string, ...participants: string[]) => ({
  id: facilitator,
  name: `Team of ${facilitator}`,
  facilitator,
  participants,
})

// An agent missing from the page goes unnoticed.
describe('groups', () => {
  it('are the teams, facilitator first, with each agent once', () => {
    const groups = groupsOf(['b', 'cto', 'coo', 'intern'].map(agent), [
      team('coo', 'cto', 'ghost'),
      team('b', 'b', 'cto'),
      team('ghost'),
    ])
    expect(groups.map(g => [g.name, ...g.agents.map(a => a.agent_id)])).toEqual([
      ['Team of coo', 'coo', 'cto'],
      ['Team of b', 'b'],
      [null, 'intern'],
    ])
  })
  it('are one without teams', () => expect(groupsOf([agent('a')], [])).toHaveLength(1))
})

describe('the filter', () => {
  it('finds names and IDs', () => {
    const all = [agent('cto'), { ...agent('x-1'), name: 'Search Expert' }]
    expect(named(all, ' CT ').map(a => a.agent_id)).toEqual(['cto'])
    expect(named(all, 'expert').map(a => a.agent_id)).toEqual(['x-1'])
    expect(named(all, '')).toHaveLength(2)
  })
})

const day = (n: number, cost_usd: string | null, runs = 1) => ({
  day: `2026-11-${n}`,
  runs,
  unpriced_runs: 0,
  cost_usd,
})

// Unknown costs must not show as zero.
describe('the costs by day', () => {
  const spend = (...days: ReturnType<typeof day>[]) =>
    ({ days, ledger_begins_at: '2026-11-19T08:00:00Z', followed_since: '2026-11-19T08:00:00Z' }) as Spend
  it('have bars by the largest day, and none where a cost is unknown', () => {
    expect(daysOf(spend(day(20, '1'), day(21, '4'), day(22, null), day(23, '0'))).map(d => d.bar)).toEqual([
      25,
      100,
      null,
      0,
    ])
    expect(daysOf(spend(day(20, '0', 0))).map(d => d.bar)).toEqual([0])
  })
  it('are unknown before tracking started', () => {
    expect(daysOf(spend(day(18, '0', 0), day(19, '2'))).map(d => [d.cost === null, d.bar])).toEqual([
      [true, null],
      [false, 100],
    ])
  })
})

// A job that fails every hour must not fill the page.
describe('failures', () => {
  it('of the same job are one, with their number', () => {
    const of = (kind: string, what: string, at: string) => ({ kind, what, at }) as AgentDetails['failures'][number]
    const shown = repeated([
      of('job_failed', 'Backup', '3'),
      of('job_missed', 'Backup', '2'),
      of('job_failed', 'Backup', '1'),
    ])
    expect(shown.map(s => [s.failure.kind, s.failure.at, s.times])).toEqual([
      ['job_failed', '3', 2],
      ['job_missed', '2', 1],
    ])
  })
})

describe('tasks', () => {
  it('that are blocked come first, and those that are done last', () => {
    const of = (key: string, status: string, blocked = false) =>
      ({ key, status, blocked }) as AgentDetails['tasks']['last'][number]
    const sorted = byUrgency([
      of('1', 'done'),
      of('2', 'todo'),
      of('3', 'in_progress'),
      of('4', 'todo', true),
      of('5', 'in_progress'),
    ])
    expect(sorted.map(t => t.key)).toEqual(['4', '3', '5', '2', '1'])
  })
})

// An agent whose status is unknown must not show as offline.
describe('the word for how present an agent is', () => {
  const of = (state: string, in_runtime: boolean | null, stalled = false) =>
    ({ in_runtime, presence: { state, stalled } }) as Agent
  it('is Unknown while nobody can be asked, or nobody is told', () => {
    expect(wordOf(of('offline', null))).toBe('unknown')
    expect(wordOf(agent('coo'))).toBe('unknown')
    expect(words.presence.unknown).toBe('Unknown')
  })
  it('is else what was seen', () => {
    expect(wordOf(of('offline', false))).toBe('offline')
    expect(wordOf(of('idle', true))).toBe('idle')
    expect(wordOf(of('active', true, true))).toBe('stalled')
  })
})
