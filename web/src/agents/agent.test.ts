import { describe, expect, it } from 'vitest'
import type { Schemas } from '../api/client'
import { agents as words } from '../texts/agents'
import { type Agent, bars, daysUntil, shareOf, treeOf } from './agent'
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
  name: 'Team',
  facilitator,
  participants,
})

// An agent missing from the team view goes unnoticed.
describe('the tree', () => {
  it('has those who are asked under the one who asks, in the order of the team', () => {
    const { branches, alone } = treeOf(['cto', 'coo', 'cmo', 'intern'].map(agent), [team('coo', 'cto', 'cmo')])
    expect(branches.map(b => [b.lead.id, ...b.members.map(m => m.id)])).toEqual([['coo', 'cto', 'cmo']])
    expect(alone.map(a => a.agent_id)).toEqual(['intern'])
  })
  it('keeps a name that nobody knows, and says that nobody does', () => {
    const { branches } = treeOf([agent('coo')], [team('coo', 'ghost')])
    expect(branches[0]?.members).toEqual([{ id: 'ghost', agent: null }])
  })
  it('shows an agent of two teams in both, and a facilitator not under itself', () => {
    const { branches, alone } = treeOf(['a', 'b'].map(agent), [team('a', 'a', 'b'), team('b', 'a')])
    expect(branches.map(b => b.members.map(m => m.id))).toEqual([['b'], ['a']])
    expect(alone).toEqual([])
  })
  it('is a plain list without teams', () => expect(treeOf([agent('a')], []).alone).toHaveLength(1))
})

// An off-by-one day would show yesterday's cost as today's.
describe('days', () => {
  it('go on over months, years and changes of the clocks', () => {
    expect(daysUntil('2026-03-02', 3)).toEqual(['2026-02-28', '2026-03-01', '2026-03-02'])
  })
})

const share = (key: string | null, cost_usd: string | null, more: object = {}) =>
  ({ key, cost_usd, runs: 1, unpriced_runs: 0, rest: false, ...more }) as Schemas['UsageShare']
const report = (...groups: Schemas['UsageShare'][]) =>
  ({
    groups,
    from: '2026-11-20T00:00:00Z',
    to: '2026-11-21T00:00:00Z',
    ledger_begins_at: '2026-11-01T00:00:00Z',
    followed_since: '2026-11-01T00:00:00Z',
  }) as Schemas['UsageReport']

// Unknown costs must not show as zero.
describe('what a day cost an agent', () => {
  it('is its row; nothing without one; unknown while the answer is not there or hides it', () => {
    expect(shareOf(report(share('cto', '1.5')), 'cto')?.cost_usd).toBe('1.5')
    expect(shareOf(report(share('cto', '1.5')), 'coo')).toEqual({ cost_usd: '0', runs: 0, unpriced_runs: 0 })
    expect(shareOf(undefined, 'cto')).toBeNull()
    expect(shareOf(report(share(null, '1', { rest: true })), 'cto')).toBeNull()
    expect(shareOf({ ...report(), ledger_begins_at: '2026-11-21T08:00:00Z' }, 'cto')).toBeNull()
  })
  it('has a bar by the largest day, and none where it is unknown', () => {
    const day = (cost_usd: string | null) => ({ day: '', cost: { cost_usd, runs: 1, unpriced_runs: 0 } })
    expect(bars([day('1'), day('4'), { day: '', cost: null }, day(null), day('0')])).toEqual([25, 100, null, null, 0])
    expect(bars([day('0')])).toEqual([0])
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
