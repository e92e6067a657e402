import { describe, expect, it } from 'vitest'
import type { Step, StepKind } from './steps'
import { timelineOf } from './timeline'

const time = (seconds: number) => new Date(new Date(2026, 10, 20, 9).getTime() + seconds * 1000).toISOString()
const step = (kind: StepKind, seconds: number | null, calls: Partial<Step['calls'][number]>[] = []): Step =>
  ({ id: `${kind}${seconds}`, kind, at: seconds === null ? null : time(seconds), text: '', calls }) as Step
const call = (from: number, to: number, failed = false) =>
  ({ at: time(from), ended_at: time(to), is_error: failed, status: 'done' }) as const
const total = (parts: readonly { width: number }[]) => parts.reduce((sum, p) => sum + p.width, 0)

describe('the timeline', () => {
  it('gives a step that took three times as long three times the width', () => {
    const { bars, pauses } = timelineOf([step('said', 0), step('text', 100), step('tools', 100, [call(100, 400)])], 240)
    expect(bars.map(b => b.kind)).toEqual(['said', 'text', 'tools'])
    expect((bars[2]?.width ?? 0) / (bars[1]?.width ?? 1)).toBeCloseTo(3, 1)
    expect(pauses).toEqual([])
    expect(total(bars)).toBeCloseTo(1)
  })
  // A night must not squeeze the work into a line.
  it('shortens a long pause, says how long it was, and labels what follows', () => {
    const night = 9 * 3600
    const { bars, pauses, ticks } = timelineOf(
      [step('said', 0), step('text', 120), step('said', 120 + night), step('text', 240 + night)],
      240,
    )
    expect(pauses.map(p => p.ms)).toEqual([night * 1000])
    expect(pauses[0]?.width).toBeLessThan(0.05)
    expect(bars[1]?.width).toBeCloseTo(bars[3]?.width ?? 0, 2)
    expect(ticks[0]?.label).toBe('20 Nov 09:00')
    expect(ticks.some(t => t.label === '18:02')).toBe(true)
  })
  it('dates the first label of another day', () => {
    const { ticks } = timelineOf([step('said', 0), step('text', 60), step('said', 86_400), step('text', 86_460)], 240)
    expect(ticks.map(t => t.label.slice(0, 6))).toContain('21 Nov')
  })
  it('never takes the time in which an agent waited for work', () => {
    const { pauses } = timelineOf([step('said', 0), step('text', 60), step('text', 7260), step('text', 7300)], 240)
    expect(pauses.map(p => p.ms)).toEqual([7_200_000])
  })
  it('marks each failure at its time, however many steps there are', () => {
    const many = Array.from({ length: 2000 }, (_, i) => step(i % 2 ? 'text' : 'said', i * 10))
    many[999] = step('tools', 9990, [call(9990, 9992), call(9990, 9995, true)])
    many[1500] = step('error', 15_000)
    const { bars, faults } = timelineOf(many, 240)
    expect(faults.map(f => f.step)).toEqual([999, 1500])
    expect(bars.length).toBeLessThanOrEqual(240)
    expect(bars.reduce((sum, b) => sum + b.count, 0)).toBe(2000)
    expect(faults[0]?.x).toBeCloseTo(0.5, 1)
  })
  it('draws a bounded number of parts for a session that runs each hour', () => {
    const beats = Array.from({ length: 4000 }, (_, i) =>
      step(i % 2 ? 'text' : 'said', Math.floor(i / 2) * 3600 + (i % 2) * 20),
    )
    const { bars, pauses, ticks } = timelineOf(beats, 240)
    expect(bars.length + pauses.length).toBeLessThan(330)
    expect(ticks.length).toBeLessThan(15)
  })
  it('shows steps without a time beside each other', () => {
    const { bars, ticks } = timelineOf([step('said', null), step('text', null)], 240)
    expect(bars.map(b => b.width)).toEqual([0.5, 0.5])
    expect(ticks).toEqual([])
  })
  it('keeps every bar within the picture', () => {
    const { bars } = timelineOf([step('said', 50), step('text', 10), step('said', 10), step('text', 9000)], 240)
    for (const b of bars) expect(b.x + b.width).toBeLessThanOrEqual(1.0001)
    expect(timelineOf([], 240).bars).toEqual([])
  })
})
