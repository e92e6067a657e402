import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Line, LiveStream, type Outside } from './stream'

interface Call {
  lastId: string | null
  url: string
  send: (text: string) => Promise<void>
  end: () => Promise<void>
  aborted: () => boolean
}

const problemOf = (status: number, code: string) =>
  new Response(JSON.stringify({ title: 'No.', code }), {
    status,
    headers: { 'Content-Type': 'application/problem+json' },
  })
const page = (status: number) =>
  new Response('<h1>Sign in</h1>', { status, headers: { 'Content-Type': 'text/html; charset=utf-8' } })

const settle = () => vi.advanceTimersByTimeAsync(0)

function house(answer: (n: number) => Response | 'stream' | 'down' = () => 'stream') {
  const calls: Call[] = []
  const frames: string[] = []
  const refused: string[] = []
  const foreign: (string | null)[] = []
  const followed: string[] = []
  let line: Line = { state: 'offline', heardAt: null }
  const out: Outside = {
    now: () => Date.now(),
    random: () => 0.5,
    token: () => 'token',
    onFrame: f => frames.push(`${f.event} ${f.data}`),
    onLine: l => {
      line = l
    },
    onForeign: what => foreign.push(what),
    onRefused: (_, code) => refused.push(code),
    sessions: () => followed,
    fetch: async (url, init) => {
      let control!: ReadableStreamDefaultController<Uint8Array>
      const body = new ReadableStream<Uint8Array>({
        start: c => {
          control = c
        },
      })
      const signal = init?.signal as AbortSignal
      signal.addEventListener('abort', () => control.error(new DOMException('gone', 'AbortError')))
      calls.push({
        url: String(url),
        lastId: new Headers(init?.headers).get('Last-Event-ID'),
        aborted: () => signal.aborted,
        send: async text => {
          control.enqueue(new TextEncoder().encode(text))
          await settle()
        },
        end: async () => {
          control.close()
          await settle()
        },
      })
      const given = answer(calls.length)
      if (given === 'down') throw new TypeError('failed to fetch')
      return given === 'stream' ? new Response(body, { headers: { 'Content-Type': 'text/event-stream' } }) : given
    },
  }
  const stream = new LiveStream(out)
  const last = () => calls.at(-1) as Call
  return { stream, calls, frames, refused, foreign, followed, last, line: () => line }
}

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

// Whichever way the connection breaks, the stream must reconnect without losing events and must not show as live
// meanwhile.
describe('the live stream', () => {
  it('comes back after the last id that it saw', async () => {
    const h = house()
    h.stream.start()
    await settle()
    expect(h.last().lastId).toBeNull()
    await h.last().send('retry: 2000\nid: 4\nevent: hello\ndata: {"id":4}\n\nid: 7\nevent: position\ndata: {}\n\n')
    expect(h.line().state).toBe('live')
    await h.last().end()
    expect(h.line().state).toBe('stale')
    await vi.advanceTimersByTimeAsync(250)
    expect(h.calls.map(c => c.lastId)).toEqual([null, '7'])
    h.stream.stop()
  })

  it('calls itself stale when nothing comes, and opens a dead line anew', async () => {
    const h = house()
    h.stream.start()
    await settle()
    await h.last().send('id: 1\nevent: hello\ndata: {}\n\n')
    for (let pulse = 0; pulse < 10; pulse++) {
      await vi.advanceTimersByTimeAsync(2_000)
      await h.last().send(':\n\n')
    }
    await vi.advanceTimersByTimeAsync(3_900)
    expect(h.line().state).toBe('live')
    await vi.advanceTimersByTimeAsync(1_100)
    expect(h.line().state).toBe('stale')
    expect(h.calls.length).toBe(1)
    await vi.advanceTimersByTimeAsync(11_000)
    expect(h.calls.length).toBe(2)
    expect(h.calls[0]?.aborted()).toBe(true)
    expect(h.last().lastId).toBe('1')
    h.stream.stop()
  })

  it('waits longer each time that nobody answers, but not for ever', async () => {
    const h = house(() => 'down')
    h.stream.start()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(h.line().state).toBe('offline')
    const soon = h.calls.length
    expect(soon).toBeGreaterThan(2)
    await vi.advanceTimersByTimeAsync(300_000)
    const later = h.calls.length - soon
    expect(later).toBeGreaterThan(9)
    expect(later).toBeLessThan(20)
    h.stream.stop()
  })

  it('waits as long as the service asks', async () => {
    const h = house(n => (n === 1 ? new Response('', { status: 429, headers: { 'Retry-After': '7' } }) : 'stream'))
    h.stream.start()
    await vi.advanceTimersByTimeAsync(6_900)
    expect(h.calls.length).toBe(1)
    await vi.advanceTimersByTimeAsync(200)
    expect(h.calls.length).toBe(2)
    h.stream.stop()
  })

  it('comes back at once when the machine has slept', async () => {
    const h = house()
    h.stream.start()
    await settle()
    await h.last().send('id: 1\nevent: hello\ndata: {}\n\n')
    vi.setSystemTime(Date.now() + 3_600_000)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(h.calls.length).toBe(2)
    h.stream.stop()
  })

  it('leads to the login when its token has ended, and does not come back', async () => {
    const h = house()
    h.stream.start()
    await settle()
    await h.last().send('event: end\ndata: {"code":"token_invalid"}\n\n')
    expect(h.refused).toEqual(['token_invalid'])
    await vi.advanceTimersByTimeAsync(120_000)
    expect(h.calls.length).toBe(1)
    h.stream.stop()
    const closed = house(() => problemOf(403, 'account_deactivated'))
    closed.stream.start()
    await settle()
    expect(closed.refused).toEqual(['account_deactivated'])
    closed.stream.stop()
  })

  // A proxy that asks for its own sign-in must not end Wardroom's.
  it.each([
    ['a proxy that refuses', () => page(401), 'HTTP 401 with a web page'],
    ['a proxy that forbids', () => page(403), 'HTTP 403 with a web page'],
    ['the problem of another service', () => problemOf(401, ''), 'HTTP 401'],
    ['JSON that is no problem', () => Response.json({ code: 'token_invalid' }, { status: 401 }), 'HTTP 401'],
    ['the login page of a proxy', () => page(200), 'HTTP 200 with a web page'],
  ])('tries again after %s', async (_, answer, what) => {
    let away = true
    const h = house(() => (away ? answer() : 'stream'))
    h.stream.start()
    await settle()
    expect(h.foreign).toEqual([what])
    expect(h.line().state).toBe('offline')
    away = false
    await vi.advanceTimersByTimeAsync(5_000)
    await h.last().send('id: 1\nevent: hello\ndata: {}\n\n')
    expect(h.line().state).toBe('live')
    expect(h.foreign.at(-1)).toBeNull()
    expect(h.refused).toEqual([])
    h.stream.stop()
  })

  it('comes back when it read too slowly', async () => {
    const h = house()
    h.stream.start()
    await settle()
    await h.last().send('id: 3\nevent: hello\ndata: {}\n\nevent: end\ndata: {"code":"behind"}\n\n')
    await vi.advanceTimersByTimeAsync(300)
    expect(h.refused).toEqual([])
    expect(h.last().lastId).toBe('3')
    h.stream.stop()
  })

  it('is silent after it was stopped', async () => {
    const h = house()
    h.stream.start()
    await settle()
    h.stream.stop()
    await vi.advanceTimersByTimeAsync(120_000)
    expect(h.calls.length).toBe(1)
    expect(h.last().aborted()).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  // Reconnecting to follow other sessions must not lose events.
  it('asks for other sessions where it was, without calling itself stale', async () => {
    const h = house()
    h.stream.start()
    await settle()
    expect(h.last().url).toBe('/api/v1/events')
    await h.last().send('id: 5\nevent: hello\ndata: {}\n\n')
    h.followed.push('agent:cto:main', 'agent:coo:a/b,c')
    h.stream.refollow()
    await settle()
    expect(h.calls.length).toBe(2)
    expect(h.calls[0]?.aborted()).toBe(true)
    expect(h.last().url).toBe('/api/v1/events?session=agent%3Acto%3Amain,agent%3Acoo%3Aa%2Fb%2Cc')
    expect(h.last().lastId).toBe('5')
    expect(h.line().state).toBe('live')
    h.stream.stop()
    h.stream.refollow()
    await settle()
    expect(h.calls.length).toBe(2)
  })
})
