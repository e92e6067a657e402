import { describe, expect, it } from 'vitest'
import type { Schemas } from '../api/client'
import { withActive } from './activeRuns'
import { partId } from './split'
import { amountsOf, nothing, plus, type Report, total } from './sums'

const sums = (cost_usd: string | null, runs: number) => ({
  ...{ cost_usd, runs, unpriced_runs: 0, corrections: 0, estimated_usd: '0', tokens: nothing.tokens },
})
const cto = { ...sums('2', 3), key: 'cto', name: null, assignee_id: null, rest: false }
const hour = (at: number) => new Date(Date.UTC(2026, 10, 28, at)).toISOString()
const report = {
  ...{ total: sums('2', 3), groups: [cto] },
  bars: [8, 9].map(at => ({ start: hour(at), end: hour(at + 1), unit: 'hour', groups: at === 8 ? [cto] : [] })),
} as unknown as Report
const run = (cost_usd: string | null, input: number, agent_id = 'cto') =>
  ({
    ...{ cost_usd, agent_id, cost_complete: cost_usd !== null, estimated_usd: cost_usd === '0.5' ? '0.5' : '0' },
    tokens: { ...nothing.tokens, input },
  }) as Schemas['UsageGoingRun']

describe('a report with active runs', () => {
  it('still adds up: groups and bars to the total, and only the bar that grows has them', () => {
    const whole = withActive(report, [run('1', 10), run('0.5', 20), run(null, 30)], Date.parse(hour(9)) + 1)
    const active = amountsOf(whole.groups.at(-1) as (typeof whole.groups)[number])
    expect(whole.groups.map(partId)).toEqual(['=cto', 'active'])
    expect(active).toMatchObject({ runs: 3, unpriced: 1, cost: 1_500_000_000n, estimated: 500_000_000n })
    expect(active.tokens.input).toBe(60)
    expect(total(whole.groups.map(amountsOf))).toEqual(amountsOf(whole.total))
    expect(total(whole.bars.flatMap(b => b.groups.map(amountsOf)))).toEqual(amountsOf(whole.total))
    expect(whole.bars.map(b => b.groups.length)).toEqual([1, 1])
    expect(plus(amountsOf(report.total), active)).toEqual(amountsOf(whole.total))
  })
  it('has them in the groups that they belong to, old and new', () => {
    const whole = withActive({ ...report, group: 'agent' }, [run('1', 10), run('4', 20, 'cmo')], Date.parse(hour(9)))
    expect(whole.groups.map(g => [partId(g), g.cost_usd, g.runs])).toEqual([
      ['=cto', '3', 4],
      ['=cmo', '4', 1],
    ])
    expect(whole.bars.at(-1)?.groups.map(g => g.cost_usd)).toEqual(['1', '4'])
    expect(whole.total).toMatchObject({ cost_usd: '7', runs: 5 })
  })
  it('has no cost where nothing has a price', () => {
    const whole = withActive({ ...report, group: 'agent' }, [run(null, 10, 'cmo')], Date.parse(hour(9)))
    expect(whole.groups.at(-1)).toMatchObject({ key: 'cmo', cost_usd: null, unpriced_runs: 1 })
    expect(whole.total).toMatchObject({ cost_usd: '2', runs: 4, unpriced_runs: 1 })
  })
  it('is the report itself without any', () => expect(withActive(report, [], 0)).toBe(report))
})
