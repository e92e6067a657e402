import { describe, expect, it } from 'vitest'
import { type Frame, SseParser } from './sse'

const bytes = (s: string) => new TextEncoder().encode(s)

function read(text: string, cuts: number[] = []): Frame[] {
  const all = bytes(text)
  const parser = new SseParser()
  const frames: Frame[] = []
  let from = 0
  for (const to of [...cuts.filter(c => c > 0 && c < all.length).sort((a, b) => a - b), all.length]) {
    frames.push(...parser.push(all.slice(from, to)))
    from = to
  }
  return frames
}

const sample = [
  ': a comment\nretry: 2000\nid: 1\nevent: hello\ndata: {"id":1}\n\n',
  'id: 2\r\nevent: task.changed\r\ndata: {"title":"Grüße 🧭 漢字"}\r\n\r\n',
  'data: one\rdata: two\r\r',
  'event: nothing\n\n',
  'id\ndata:no space\ndata\ndata:  two spaces\nunknown: x\n\n',
  'id: 9\ndata: {}\n\n',
].join('')

// A parser bug would silently show outdated data.
describe('a stream of events', () => {
  it('is read as it was meant', () => {
    expect(read(sample)).toEqual([
      { event: 'hello', data: '{"id":1}', id: '1' },
      { event: 'task.changed', data: '{"title":"Grüße 🧭 漢字"}', id: '2' },
      { event: 'message', data: 'one\ntwo', id: '2' },
      { event: 'message', data: 'no space\n\n two spaces', id: '' },
      { event: 'message', data: '{}', id: '9' },
    ])
  })

  it('is the same wherever it is cut once, also within a letter and a line end', () => {
    const whole = read(sample)
    for (let cut = 1; cut < bytes(sample).length; cut++) expect(read(sample, [cut]), `cut at ${cut}`).toEqual(whole)
  })

  it('is the same byte by byte, and in a thousand ways of cutting', () => {
    const whole = read(sample)
    const length = bytes(sample).length
    expect(
      read(
        sample,
        Array.from({ length }, (_, i) => i),
      ),
    ).toEqual(whole)
    let seed = 7
    const random = () => {
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed / 2147483648
    }
    for (let round = 0; round < 1000; round++) {
      const cuts = Array.from({ length: Math.floor(random() * 12) }, () => Math.floor(random() * length))
      expect(read(sample, cuts), `cut at ${cuts}`).toEqual(whole)
    }
  })

  it('takes rubbish without an end or an error', () => {
    const parser = new SseParser()
    for (let i = 0; i < 200; i++) parser.push(crypto.getRandomValues(new Uint8Array(97)))
    expect(parser.push(bytes('\n\ndata: after\n\n')).at(-1)?.data).toBe('after')
  })

  it('keeps what is not finished', () => {
    const parser = new SseParser()
    expect(parser.push(bytes('data: half'))).toEqual([])
    expect(parser.push(bytes(' and half\n'))).toEqual([])
    expect(parser.push(bytes('\n'))).toEqual([{ event: 'message', data: 'half and half', id: '' }])
    expect(parser.push(bytes('retry: 50\nretry: x\n'))).toEqual([])
    expect(parser.retry).toBe(50)
  })
})
