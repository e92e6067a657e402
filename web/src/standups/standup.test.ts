import { describe, expect, it } from 'vitest'
import { runsOf } from './Evidence'
import { progressSentence } from './progress'
import {
  type Blocker,
  type Brief,
  calendar,
  clipped,
  conversation,
  fateOf,
  headline,
  type Line,
  progressOf,
  type Report,
  type Standup,
  standOf,
  verbOf,
  verdictOf,
} from './standup'

const report = (agent: string, status: Report['status'], more: Partial<Report> = {}): Report =>
  ({ agent_id: agent, name: agent.toUpperCase(), status, asked_at: null, claims: [], omitted: [], ...more }) as Report
const line = (seq: number, kind: Line['kind'], from: string, to: string, at = ''): Line => ({
  seq,
  kind,
  from,
  to,
  at: at || `2026-11-20T08:00:0${seq % 10}.000Z`,
  text: 'x',
})
const make = (of: Partial<Standup>): Standup =>
  ({
    id: 's',
    status: 'running',
    phase: 'collecting',
    facilitator: 'coo',
    reports: [],
    transcript: [],
    error: null,
    created_at: '2026-11-20T07:59:00.000Z',
    started_at: '2026-11-20T08:00:00.000Z',
    ...of,
  }) as Standup

// Progress must name the right agent and ignore times of earlier attempts.
describe('the progress', () => {
  const sentence = (s: Standup) => {
    const p = progressOf(s)
    return p && progressSentence(p, id => id.toUpperCase())
  }
  it('says who is being asked, and since when', () => {
    const asked = report('cpo', 'asked', { asked_at: '2026-11-20T08:00:30.000Z' })
    const s = make({ reports: [report('cto', 'timed_out'), asked, report('cmo', 'pending')] })
    expect(progressOf(s)).toEqual({ now: 'asking', who: 'cpo', since: '2026-11-20T08:00:30.000Z', done: 1, of: 3 })
    expect(sentence(s)).toBe('Waiting for CPO, 2 of 3.')
  })
  it('says what happens before, between and after the questions', () => {
    expect(sentence(make({ phase: 'opened' }))).toBe('Opened. No participant has been asked yet.')
    expect(sentence(make({ phase: 'gathering' }))).toBe('Collecting each participant’s activity from the board.')
    const one = [report('cto', 'answered'), report('cpo', 'pending')]
    expect(sentence(make({ reports: one }))).toBe('1 of 2 done. The next participant is asked in a moment.')
    expect(sentence(make({ reports: [report('cto', 'answered')] }))).toContain('The review starts')
    expect(sentence(make({ phase: 'reviewing' }))).toBe('COO is reviewing the reports.')
    expect(sentence(make({ status: 'completed', phase: 'closed' }))).toBeNull()
    expect(sentence(make({ status: 'error' }))).toBeNull()
  })
  it('counts a review from its own question and not from that of an earlier attempt', () => {
    const old = line(1, 'question', 'wardroom', 'coo', '2026-11-20T07:00:00.000Z')
    const fresh = line(2, 'question', 'wardroom', 'coo', '2026-11-20T08:01:00.000Z')
    expect(progressOf(make({ phase: 'reviewing', transcript: [old] }))?.since).toBeNull()
    expect(progressOf(make({ phase: 'reviewing', transcript: [old, fresh] }))?.since).toBe(fresh.at)
  })
})

// A missing button, or one that asks everyone again by mistake, costs time and money.
describe('how a standup stands', () => {
  it.each([
    ['running', 'opened', null, 'opened', 'run'],
    ['running', 'reviewing', null, 'running', null],
    ['completed', 'closed', null, 'completed', null],
    ['error', 'collecting', 'gateway_unreachable', 'error', 'retry'],
    ['error', 'collecting', 'cancelled', 'cancelled', 'retry'],
    ['error', 'opened', 'not_run', 'not_run', 'retry'],
  ] as const)('%s, %s, %s: %s, %s', (status, phase, code, stand, verb) => {
    const s = { status, phase, error: code && { code, detail: '' } }
    expect(standOf(s)).toBe(stand)
    expect(verbOf(s)).toBe(verb)
  })
})

describe('the calendar', () => {
  const held = (date: string): Brief => ({ id: date, date }) as Brief
  it('has a place for each day, over the end of a month and the change of the clocks', () => {
    const days = calendar('2026-11-02', 10, [held('2026-10-25'), held('2026-11-01'), held('2026-09-01')])
    expect(days.map(d => d.date)).toEqual([
      '2026-10-24',
      '2026-10-25',
      '2026-10-26',
      '2026-10-27',
      '2026-10-28',
      '2026-10-29',
      '2026-10-30',
      '2026-10-31',
      '2026-11-01',
      '2026-11-02',
    ])
    expect(days.filter(d => d.standup).map(d => d.date)).toEqual(['2026-10-25', '2026-11-01'])
  })
})

describe('the headline', () => {
  it('is the first sentence, and nothing of the rest is lost', () => {
    const summary = 'The team finished TASK-1.5 and TASK-2. Work goes on.\n\nMore.'
    expect(headline(summary)).toEqual({
      head: 'The team finished TASK-1.5 and TASK-2.',
      rest: 'Work goes on.\n\nMore.',
    })
  })
  it.each(['# Title\nText', '**Bold** words.', `${'long '.repeat(60)}.`, '', '<b>x</b>.'])('is none of %j', text =>
    expect(headline(text)).toEqual({ head: '', rest: text.trim() }),
  )
})

// Attempts must be told apart, and contradictions shown at the right answer.
describe('the conversation', () => {
  it('begins an attempt after an error and after a close, and marks who is asked again', () => {
    const transcript = [
      line(1, 'note', 'wardroom', 'team'),
      line(2, 'question', 'coo', 'cto'),
      line(3, 'timeout', 'cto', 'coo'),
      line(4, 'error', 'wardroom', 'team'),
      line(5, 'note', 'wardroom', 'team'),
      line(6, 'question', 'coo', 'cto'),
      line(7, 'answer', 'cto', 'coo'),
      line(8, 'summary', 'coo', 'team'),
      line(9, 'note', 'wardroom', 'team'),
      line(10, 'note', 'wardroom', 'team'),
    ]
    const said = conversation({ transcript, reports: [report('cto', 'answered')] })
    expect(said.map(s => s.attempt)).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 2, 3])
    expect(said.filter(s => s.begins).map(s => s.line.seq)).toEqual([5, 10])
    expect(said.filter(s => s.again).map(s => s.line.seq)).toEqual([6])
    expect(said.filter(s => s.report).map(s => s.line.seq)).toEqual([7])
  })
})

describe('a long text', () => {
  it('is cut at a line, and not within a character', () => {
    expect(clipped('short')).toBeNull()
    expect(clipped(`${'a'.repeat(3000)}\n${'b'.repeat(3000)}`)).toBe('a'.repeat(3000))
    expect(clipped(`${'a'.repeat(3999)}😀${'b'.repeat(10)}`)).toBe('a'.repeat(3999))
  })
})

describe('what became of a blocker', () => {
  it.each([
    [{ status: 'open' }, 'open'],
    [{ status: 'open', resolution: 'x' }, 'decided'],
    [{ status: 'open', resolution: 'x', escalated_on: '2026-11-20' }, 'escalated'],
    [{ status: 'ended', escalated_on: '2026-11-20' }, 'ended'],
  ] as const)('%j: %s', (of, want) => expect(fateOf(of as Blocker)).toBe(want))
})

// The facilitator's plan under "decided by a person" would put words into that person's mouth.
describe('what was decided about a blocker', () => {
  const decision = { by: 'Ada', text: 'Pay by invoice.', at: '2026-11-20T09:00:00.000Z' }
  it.each([
    [{ status: 'open', resolution: 'Ask for a card.' }, 'COO: Ask for a card.'],
    [{ status: 'ended', ended_why: 'done', resolution: 'Ask for a card.' }, 'COO: Ask for a card.'],
    [{ status: 'ended', ended_why: 'decided', resolution: 'Ask for a card.', decision }, 'Ada: Pay by invoice.'],
    [{ status: 'ended', ended_why: 'decided', resolution: 'Ask for a card.', decision: null }, null],
    [{ status: 'open', resolution: null }, null],
  ])('%j: %s', (of, want) => {
    const said = verdictOf(of as Blocker, 'COO')
    expect(said && `${said.by}: ${said.text}`).toBe(want)
  })
})

// Unknown costs must not show as zero.
describe('the runs of the evidence', () => {
  const runs = { count: 12, failed: 1, tokens: null, cost_usd: '0.5', source: 'ledger' as const }
  it('are all of the agent, with what failed and what has no price', () => {
    expect(runsOf(runs)).toEqual(['12 runs', 'cost $0.50', '1 run failed'])
    expect(runsOf({ ...runs, unpriced: 2, failed: 0 })).toEqual(['12 runs', 'cost $0.50 + 2 unpriced'])
    expect(runsOf({ ...runs, count: 1, unpriced: 1, failed: 0, cost_usd: null })).toEqual(['1 run', 'cost unpriced'])
  })
  it('are told where nothing else is, and said to be unknown where nobody knows', () => {
    expect(runsOf({ ...runs, count: 0, failed: 2 })).toEqual(['2 runs failed'])
    expect(runsOf(null)).toEqual(['runs unknown'])
  })
  it('are what they were in records of before', () =>
    expect(runsOf({ ...runs, source: 'standups', count: 1, cost_usd: null })).toEqual([
      '1 standup run',
      'cost unknown',
      '1 without an answer',
    ]))
})
