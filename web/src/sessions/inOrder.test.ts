import { describe, expect, it } from 'vitest'
import { inOrder } from './inOrder'
import type { Outgoing } from './outbox'
import type { Message, Transcript } from './transcript'

const time = (seconds: number) => new Date(Date.UTC(2026, 10, 20) + seconds * 1000).toISOString()
const row = (id: string, seconds: number, of: Partial<Message> = {}): Message => ({
  id,
  seq: null,
  role: 'assistant',
  at: time(seconds),
  blocks: [{ type: 'text', text: id, cut: 0, tool: null }],
  blocks_cut: 0,
  error: null,
  run_id: null,
  sender: null,
  prompt: null,
  waiting: null,
  model: null,
  stop_reason: null,
  tokens: null,
  cost_usd: null,
  origin: null,
  ...of,
})
const asked = (id: string, seconds: number, of: Partial<Message> = {}) =>
  row(id, seconds, { role: 'user', run_id: `wardroom-${id}`, ...of })
const out = (text: string, seconds: number, of: Partial<Outgoing> = {}): Outgoing => ({
  id: text,
  text,
  sender: 'Ada',
  at: time(seconds),
  state: 'sending',
  runId: null,
  problem: null,
  ...of,
})
const page = (rows: Message[], waiting: Message[] = []): Transcript => ({ rows, waiting, older: null })
const ids = (t: Transcript, sends: Outgoing[] = []) => inOrder(t, sends).map(m => m.id)

// A message that vanishes, or is shown twice, makes people send it again.
describe('the messages of a session', () => {
  it('stay in order of time when the agent reads one late', () => {
    expect(ids(page([row('a', 1), row('b', 5), asked('late', 3), row('c', 9)]))).toEqual(['a', 'late', 'b', 'c'])
  })
  it('include what waits for the agent, until it is read', () => {
    const waits = asked('more', 3, { waiting: 'queued', sender: 'Ada' })
    expect(ids(page([row('a', 1), row('b', 5)], [waits]))).toEqual(['a', 'more', 'b'])
    expect(ids(page([row('a', 1), asked('more', 3, { id: 'read' })], [waits]))).toEqual(['a', 'read'])
  })
  it('keep the sender of a message that waited, which the stream does not name', () => {
    const waits = asked('more', 3, { waiting: 'queued', sender: 'Ada' })
    expect(inOrder(page([asked('more', 3, { id: 'read' })], [waits]), []).map(m => m.sender)).toEqual(['Ada'])
  })
  it('include what is being sent, with its sender', () => {
    const [, own] = inOrder(page([row('a', 1)]), [out('Hello', 2)])
    expect(own).toMatchObject({ role: 'user', sender: 'Ada', outgoing: { state: 'sending' } })
  })
  it('have a sent message once, also before the server has responded', () => {
    const rows = [row('a', 1), asked('x', 2, { blocks: [{ type: 'text', text: 'Hello', cut: 0, tool: null }] })]
    const early = inOrder(page(rows), [out('Hello', 2)])
    expect(early.map(m => [m.id, m.sender])).toEqual([
      ['a', null],
      ['x', 'Ada'],
    ])
    expect(ids(page(rows), [out('Hello', 2, { state: 'sent', runId: 'wardroom-x' })])).toEqual(['a', 'x'])
    expect(
      ids(page([row('a', 1)], [asked('x', 2, { waiting: 'queued' })]), [
        out('Hello', 2, { state: 'sent', runId: 'wardroom-x' }),
      ]),
    ).toEqual(['a', 'x'])
  })
  it('keep a failed message apart from one with the same text', () => {
    const rows = [asked('x', 2, { blocks: [{ type: 'text', text: 'Hello', cut: 0, tool: null }] })]
    expect(ids(page(rows), [out('Hello', 3, { state: 'failed' })])).toEqual(['x', 'out-Hello'])
  })
  it('leave out a dropped message whose place is not loaded', () => {
    const dropped = asked('old', 1, { waiting: 'dropped' })
    expect(ids({ ...page([row('b', 5)], [dropped]), older: 'more' })).toEqual(['b'])
    expect(ids(page([row('b', 5)], [dropped]))).toEqual(['old', 'b'])
  })
})
