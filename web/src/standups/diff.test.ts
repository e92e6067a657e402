import { describe, expect, it } from 'vitest'
import { differences } from './diff'
import type { Blocker, Report, Standup } from './standup'

const blocker = (id: string | null, text: string, more: Partial<Blocker> = {}): Blocker =>
  ({ id, text, agent_id: 'cto', named_by: ['cto'], status: 'open', age_days: 1, ...more }) as Blocker
const report = (agent: string, status: Report['status']): Report =>
  ({ agent_id: agent, name: agent.toUpperCase(), status }) as Report
const make = (of: Partial<Standup>): Standup =>
  ({
    status: 'completed',
    reports: [],
    blockers: [],
    cost_usd: null,
    started_at: null,
    completed_at: null,
    ...of,
  }) as unknown as Standup
const kinds = (now: Partial<Standup>, before: Partial<Standup>) =>
  differences(make(now), make(before)).map(d => `${d.kind}${'blocker' in d ? ` ${d.blocker.text}` : ''}`)

// Unchanged items must not look new.
describe('differences with the standup before', () => {
  it('are what is new and what is gone, by the blocker and not by its words', () => {
    const before = { blockers: [blocker('a', 'card'), blocker('b', 'access')] }
    const now = { blockers: [blocker('a', 'the card still'), blocker('c', 'numbers')] }
    expect(kinds(now, before)).toEqual(['blocker_new numbers', 'blocker_gone access'])
  })
  it('leave out decisions about something that nobody named', () => {
    const decided = blocker(null, 'decided', { named_by: [] })
    expect(kinds({ blockers: [decided] }, { blockers: [decided] })).toEqual([])
  })
  it('call nobody silent and no blocker gone while the meeting goes on', () => {
    const before = { reports: [report('cto', 'answered')], blockers: [blocker('a', 'card')] }
    expect(kinds({ status: 'running', reports: [report('cto', 'pending')] }, before)).toEqual([])
    expect(kinds({ status: 'error', reports: [report('cto', 'timed_out')] }, before)).toEqual(['silent'])
  })
  it('tell who is heard again, who joined and who left', () => {
    const before = { reports: [report('cto', 'timed_out'), report('cmo', 'answered')] }
    const now = { reports: [report('cto', 'answered'), report('cpo', 'answered')] }
    expect(kinds(now, before)).toEqual(['heard', 'joined', 'left'])
  })
  it('compare costs to the last digit, and only those that are known', () => {
    const [cheap, dear] = [{ cost_usd: '0.100000001' }, { cost_usd: '0.3' }]
    expect(differences(make(dear), make(cheap))).toEqual([{ kind: 'cost', by: '0.199999999', up: true }])
    expect(differences(make(cheap), make(dear))).toEqual([{ kind: 'cost', by: '0.199999999', up: false }])
    expect(differences(make(cheap), make(cheap))).toEqual([])
    expect(differences(make(cheap), make({ cost_usd: null }))).toEqual([])
    expect(differences(make({ cost_usd: '0.1099' }), make({ cost_usd: '0.1' }))).toEqual([])
  })
  it('compare how long completed ones took, from one minute on', () => {
    const took = (s: number) => ({
      started_at: '2026-11-20T08:00:00.000Z',
      completed_at: new Date(Date.parse('2026-11-20T08:00:00.000Z') + s * 1000).toISOString(),
    })
    expect(differences(make(took(150)), make(took(60)))).toEqual([{ kind: 'length', by: 90_000, up: true }])
    expect(differences(make(took(119)), make(took(60)))).toEqual([])
    expect(differences(make({ ...took(150), status: 'error' }), make(took(60)))).toEqual([])
  })
})
