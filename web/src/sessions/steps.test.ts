import { describe, expect, it } from 'vitest'
import { asText, cannotAsk, type Step, type Call as StepCall, stepsOf, toldInWords, tookOf, turnsOf } from './steps'
import type { Message } from './transcript'

type Block = Message['blocks'][number]
type Call = NonNullable<Block['tool']>

const tool = (name: string, of: Partial<Call> = {}): Block => ({
  type: 'tool_call',
  text: null,
  cut: 0,
  tool: {
    id: name,
    name,
    status: 'done',
    is_error: false,
    exit_code: null,
    arguments: '{"a":1}',
    arguments_cut: 0,
    result: 'ok',
    result_cut: 0,
    ended_at: null,
    ...of,
  },
})
const text = (t: string, type: Block['type'] = 'text'): Block => ({ type, text: t, cut: 0, tool: null })
let n = 0
const message = (blocks: Block[], of: Partial<Message> = {}): Message => ({
  id: `m${++n}`,
  seq: n,
  role: 'assistant',
  at: '2026-11-20T08:00:00.000Z',
  blocks,
  blocks_cut: 0,
  error: null,
  run_id: null,
  sender: null,
  prompt: null,
  waiting: null,
  model: 'demo/one',
  stop_reason: null,
  tokens: { input: 10, output: 5, cache_read: 0, cache_write: 0, other: 0 },
  cost_usd: '0.01',
  origin: null,
  ...of,
})
const kinds = (steps: Step[]) => steps.map(s => s.kind)

// These lines must say what the agent did and what it cost.
describe('a transcript', () => {
  it('has calls of tools in one row until something is said', () => {
    const steps = stepsOf([
      message([text('go')], { role: 'user', tokens: null, cost_usd: null }),
      message([text('hm', 'thinking'), tool('exec'), tool('exec')]),
      message([tool('read')]),
      message([text('done')]),
    ])
    expect(kinds(steps)).toEqual(['said', 'thinking', 'tools', 'text'])
    expect(steps[2]?.calls.map(c => c.name)).toEqual(['exec', 'exec', 'read'])
    // Reasoning belongs to the first model call, the tools to the second.
    expect(steps[1]?.spent).toMatchObject({ calls: 1, input: 10 })
    expect(steps[2]?.spent).toMatchObject({ calls: 1, cost: 10_000_000n })
  })
  it('says who sent a message, and how far it has come', () => {
    const mine = { role: 'user', tokens: null, cost_usd: null, sender: 'Ada' }
    const steps = stepsOf([
      message([text('go')], mine),
      message([text('also')], { ...mine, waiting: 'queued' }),
      message([text('never')], { ...mine, waiting: 'dropped' }),
      message([text('work')], { ...mine, sender: null, prompt: 'task' }),
    ])
    expect(steps.map(s => s.delivery)).toEqual(['read', 'sent', 'dropped', null])
    expect(steps.map(s => s.sender)).toEqual(['Ada', 'Ada', 'Ada', null])
    expect(steps.map(s => s.prompt)).toEqual([null, null, null, 'task'])
  })
  it('adds up what the model calls of one row used, and says when one has no price', () => {
    const [step] = stepsOf([message([tool('exec')]), message([tool('exec')], { cost_usd: null })])
    expect(step?.spent).toMatchObject({ calls: 2, input: 20, output: 10, cost: 10_000_000n, unpriced: true })
  })
  it('does not turn what nobody counted into a zero', () => {
    const [step] = stepsOf([message([text('x')], { tokens: null, cost_usd: null })])
    expect(step?.spent).toBeNull()
  })
  it('gives each row a name of its own that stays when older ones come before it', () => {
    const two = [message([text('a'), tool('exec'), text('b')]), message([text('c')])]
    const before = message([text('old')])
    const ids = stepsOf(two).map(s => s.id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(
      stepsOf([before, ...two])
        .map(s => s.id)
        .slice(1),
    ).toEqual(ids)
    expect(new Set(stepsOf([...two, ...two]).map(s => s.id)).size).toBe(8)
  })
  it('says what is not shown, what was left out and what went wrong', () => {
    const steps = stepsOf([message([text('image', 'other')], { blocks_cut: 3, error: 'no credit' })])
    expect(kinds(steps)).toEqual(['note', 'note', 'error'])
    expect(steps[2]?.text).toBe('no credit')
  })
  it('never has more behind a line than can be drawn at once', () => {
    const steps = stepsOf(Array.from({ length: 100 }, () => message([tool('exec')])))
    expect(steps.map(s => s.calls.length)).toEqual([40, 40, 20])
  })
})

describe('calls in words', () => {
  const said = (...names: string[]) => toldInWords(names.map(name => tool(name).tool as StepCall))
  it.each([
    [['exec', 'bash', 'exec', 'read', 'Read'], 'Ran 3 commands, read 2 files'],
    [['write', 'apply_patch', 'web_fetch'], 'Wrote 1 file, edited 1 file, opened 1 page'],
    [['jira', 'jira'], 'Called jira 2 times'],
    [['a', 'b', 'c', 'd'], 'Called a, called b, made 2 other calls'],
  ])('%j', (names, want) => expect(said(...names)).toBe(want))
})

describe('turns', () => {
  const at = (seconds: number) => new Date(Date.UTC(2026, 10, 20, 8) + seconds * 1000).toISOString()
  const ask = (seconds: number) =>
    message([text('go')], { role: 'user', tokens: null, cost_usd: null, at: at(seconds) })
  // A turn must not include the next one, nor the wait for it.
  it('sum up a message and what follows it, until the next one', () => {
    const steps = stepsOf([
      ask(0),
      message([tool('exec', { ended_at: at(50) })], { at: at(20) }),
      message([text('done')], { at: at(40), cost_usd: null }),
      ask(4000),
      message([text('yes')], { at: at(4005) }),
    ])
    const turns = [...turnsOf(steps).values()]
    expect(turns).toEqual([
      { cost: 10_000_000n, unpriced: true, ms: 50_000, calls: 1 },
      { cost: 10_000_000n, unpriced: false, ms: 5_000, calls: 0 },
    ])
  })
  it('know no time and no cost before the first step', () => {
    expect([...turnsOf(stepsOf([ask(0)])).values()]).toEqual([{ cost: null, unpriced: false, ms: null, calls: 0 }])
  })
  it('have calls whose time is from the call to its result, or unknown', () => {
    const took = (ended_at: string | null) =>
      stepsOf([message([tool('exec', { ended_at })], { at: at(10) })])[0]?.calls.map(tookOf)
    expect([took(at(12.5)), took(null), took(at(9))]).toEqual([[2500], [null], [null]])
  })
})

// A sub-agent's command that nobody could approve must not look like one that failed by itself. The result is OpenClaw's.
describe('a command that could not ask for approval', () => {
  it.each([
    ['Exec approval registration failed: GatewayClientRequestError: missing scope: operator.approvals', true],
    ['missing scope: operator.admin', false],
  ])('%s', (error, want) => {
    const result = JSON.stringify({ status: 'error', tool: 'exec', error }, null, 2)
    const steps = stepsOf([message([tool('exec', { result }), tool('exec', { result: null })])])
    expect(steps[0]?.calls.map(cannotAsk)).toEqual([want, false])
  })
})

describe('copying', () => {
  it('has who, what and the results, as plain text', () => {
    const copied = asText('Main', stepsOf([message([text('hello'), tool('exec', { result: '42' })])]))
    expect(copied).toContain('From the agent\nhello')
    expect(copied).toContain('- exec {"a":1}\n42')
  })
})
