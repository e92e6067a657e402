import { describe, expect, it } from 'vitest'
import { addHeard, joinNewest, joinOlder, type Message, type Transcript } from './transcript'

type Tool = NonNullable<Message['blocks'][number]['tool']>

const call = (id: string, of: Partial<Tool> = {}): Message['blocks'][number] => ({
  type: 'tool_call',
  text: null,
  cut: 0,
  tool: {
    id,
    name: 'exec',
    status: 'pending',
    is_error: false,
    exit_code: null,
    arguments: '{}',
    arguments_cut: 0,
    result: null,
    result_cut: 0,
    ended_at: null,
    ...of,
  },
})
const say = (seq: number, of: Partial<Message> = {}): Message => ({
  id: `m${seq}`,
  seq,
  role: 'assistant',
  at: null,
  blocks: [{ type: 'text', text: `said ${seq}`, cut: 0, tool: null }],
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
const result = (seq: number, id: string) =>
  say(seq, { role: 'tool', blocks: [call(id, { status: 'done', result: 'ok', ended_at: 'later' })] })
const of = (...rows: Message[]): Transcript => ({ rows, waiting: [], older: 'more' })
const seqs = (t: Transcript) => t.rows.map(m => m.seq)

// Messages must be neither duplicated nor lost.
describe('what is heard live', () => {
  it('comes to the end, once', () => {
    const twice = addHeard(addHeard(of(say(1)), say(2)), say(2))
    expect(seqs(twice)).toEqual([1, 2])
  })
  it('that was in the page already adds nothing, also without an id', () => {
    const was = of(say(1), say(2))
    expect(addHeard(was, say(2, { id: null }))).toBe(was)
  })
  it('too late goes where its number says', () => {
    expect(seqs(addHeard(of(say(1), say(4)), say(3)))).toEqual([1, 3, 4])
  })
  it('as the result of a call is put to the call, and not over what the page had', () => {
    const after = addHeard(of(say(1, { blocks: [call('c')] }), say(2)), result(3, 'c'))
    expect(seqs(after)).toEqual([1, 2])
    expect(after.rows[0]?.blocks[0]?.tool).toMatchObject({ status: 'done', result: 'ok', ended_at: 'later' })
    const again = addHeard(after, result(3, 'c'))
    expect(again.rows).toEqual(after.rows)
  })
  it('as a result whose call is not here is a row of its own', () => {
    expect(seqs(addHeard(of(say(1)), result(2, 'gone')))).toEqual([1, 2])
  })
})

describe('the newest page, read anew', () => {
  it('keeps what is older and where that goes on', () => {
    const joined = joinNewest(of(say(1), say(2), say(3)), { rows: [say(3), say(4)], waiting: [], older: 'other' })
    expect(seqs(joined)).toEqual([1, 2, 3, 4])
    expect(joined.older).toBe('more')
  })
  it('brings the whole of what the stream had cut', () => {
    const cut = say(3, { blocks: [{ type: 'text', text: 'sa', cut: 4, tool: null }] })
    expect(joinNewest(of(say(2), cut), { rows: [say(3)], waiting: [], older: 'x' }).rows[1]?.blocks[0]?.cut).toBe(0)
  })
  it('begins with the result of a call that is on an older page', () => {
    const was = of(say(1, { blocks: [call('c')] }), say(3))
    const joined = joinNewest(was, { rows: [result(2, 'c'), say(3), say(4)], waiting: [], older: 'x' })
    expect(seqs(joined)).toEqual([1, 3, 4])
    expect(joined.rows[0]?.blocks[0]?.tool?.result).toBe('ok')
  })
  it('that does not touch what was read stands alone, so that there is no hidden gap', () => {
    const fresh = { rows: [say(90), say(91)], waiting: [], older: 'far' }
    expect(joinNewest(of(say(1), say(2)), fresh)).toBe(fresh)
    const gap = { rows: [say(3), say(4)], waiting: [], older: 'far' }
    expect(joinNewest(of(say(1), say(4)), gap)).toBe(gap)
  })
  it('of another conversation under the same key replaces the first', () => {
    const fresh = { rows: [say(1, { id: 'new' })], waiting: [], older: null }
    expect(joinNewest(of(say(1), say(2)), fresh)).toBe(fresh)
  })
})

describe('an older page', () => {
  it('goes before, without doubles, and takes the results of its calls', () => {
    const was = of(result(3, 'c'), say(4))
    const joined = joinOlder(was, { rows: [say(1), say(2, { blocks: [call('c')] })], waiting: [], older: null })
    expect(seqs(joined)).toEqual([1, 2, 4])
    expect(joined.rows[1]?.blocks[0]?.tool?.status).toBe('done')
    expect(joined.older).toBeNull()
    expect(seqs(joinOlder(of(say(2), say(3)), { rows: [say(1), say(2)], waiting: [], older: null }))).toEqual([1, 2, 3])
  })
})
