import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { connect } from './connect'
import { type FromTab, Sharing, type ToTab } from './share'

interface Line {
  token: string | null
  url: string
  ended: () => boolean
  send: (text: string) => Promise<void>
}

const settle = () => vi.advanceTimersByTimeAsync(0)
const hello = 'id: 1\nevent: hello\ndata: {}\n\n'
const gateway = 'event: agentrt.status\ndata: {"state":"connected","since":"2026-11-20T08:00:00Z"}\n\n'

/** The streams of a browser with as many tabs as the test opens. */
function browser() {
  const lines: Line[] = []
  const sharing = new Sharing({
    now: () => Date.now(),
    random: () => 0.5,
    fetch: async (url, init) => {
      let control!: ReadableStreamDefaultController<Uint8Array>
      let ended = false
      const body = new ReadableStream<Uint8Array>({
        start: c => {
          control = c
        },
        cancel: () => {
          ended = true
        },
      })
      const signal = init?.signal as AbortSignal
      signal.addEventListener('abort', () => control.error(new DOMException('gone', 'AbortError')))
      lines.push({
        token: new Headers(init?.headers).get('X-Wardroom-Token'),
        url: String(url),
        ended: () => ended || signal.aborted,
        send: async text => {
          control.enqueue(new TextEncoder().encode(text))
          await settle()
        },
      })
      return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
    },
  })
  /** Opens a tab; a frozen one doesn't answer beats. */
  const open = (token = 'ada') => {
    const said: ToTab[] = []
    const port = {
      frozen: false,
      onmessage: null as ((e: MessageEvent<FromTab>) => void) | null,
      postMessage: (what: ToTab) => {
        said.push(what)
        if (what.kind === 'beat' && !port.frozen) send({ kind: 'here' })
      },
    }
    const send = (what: FromTab) => port.onmessage?.({ data: what } as MessageEvent<FromTab>)
    sharing.add(port)
    send({ kind: 'join', token })
    const frames = () => said.flatMap(s => (s.kind === 'frame' ? [s.frame.event] : []))
    const state = () => said.findLast(s => s.kind === 'line')?.line.state
    const freeze = (frozen: boolean) => {
      port.frozen = frozen
    }
    return { send, said, frames, state, freeze }
  }
  const live = () => lines.filter(line => !line.ended())
  const last = () => lines.at(-1) as Line
  return { open, lines, live, last }
}

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

// A browser opens only six connections to a host, so tabs must not hold one each.
describe('the streams of several tabs', () => {
  it('are one, whose events reach all of them, also those that come later', async () => {
    const b = browser()
    const tabs = Array.from({ length: 6 }, () => b.open())
    await settle()
    await b.last().send(hello)
    tabs.push(b.open())
    await settle()
    await b.last().send('id: 2\nevent: task.changed\ndata: {}\n\n')
    for (const tab of tabs) {
      expect(tab.frames()).toEqual(['hello', 'task.changed'])
      expect(tab.state()).toBe('live')
    }
    expect(b.lines).toHaveLength(1)
  })

  it('go on when tabs close, and end with the last', async () => {
    const b = browser()
    const [one, two] = [b.open(), b.open()]
    await settle()
    await b.last().send(hello)
    one.send({ kind: 'leave' })
    await b.last().send('id: 2\nevent: task.changed\ndata: {}\n\n')
    expect(two.frames()).toEqual(['hello', 'task.changed'])
    expect(one.frames()).toEqual(['hello'])
    two.send({ kind: 'leave' })
    expect(b.live()).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('are one for each user, and a refusal ends only that user’s', async () => {
    const b = browser()
    const [ada, grace] = [b.open('ada'), b.open('grace')]
    await settle()
    expect(b.lines.map(line => line.token)).toEqual(['ada', 'grace'])
    await b.lines[0]?.send('event: end\ndata: {"code":"token_invalid"}\n\n')
    expect(ada.said).toContainEqual({ kind: 'refused', token: 'ada', code: 'token_invalid' })
    expect(grace.said.some(s => s.kind === 'refused')).toBe(false)
    expect(b.live().map(line => line.token)).toEqual(['grace'])
    ada.send({ kind: 'join', token: 'ada-again' })
    await settle()
    expect(b.last().token).toBe('ada-again')
  })

  it('follow the sessions of all tabs, and trouble only those that follow another', async () => {
    const b = browser()
    const [one, two] = [b.open(), b.open()]
    await settle()
    await b.last().send(hello + gateway)
    one.send({ kind: 'follow', keys: ['agent:cto:main'] })
    one.send({ kind: 'follow', keys: [] })
    one.send({ kind: 'follow', keys: ['agent:cto:main'] })
    await vi.advanceTimersByTimeAsync(100)
    expect(b.lines.map(line => line.url)).toEqual(['/api/v1/events', '/api/v1/events?session=agent%3Acto%3Amain'])
    await b.last().send(hello + gateway)
    expect(one.said.findLast(s => s.kind === 'frame' && s.frame.event === 'hello')).toMatchObject({ moved: true })
    expect(one.frames().filter(f => f === 'agentrt.status')).toHaveLength(2)
    expect(two.frames().filter(f => f === 'agentrt.status')).toHaveLength(1)
    two.send({ kind: 'follow', keys: ['agent:cto:main'] })
    await vi.advanceTimersByTimeAsync(100)
    expect(b.lines).toHaveLength(2)
    // What changed meanwhile concerns all.
    two.send({ kind: 'follow', keys: ['agent:coo:main'] })
    await vi.advanceTimersByTimeAsync(100)
    await b.last().send(hello + gateway.replace('connected', 'slow'))
    expect(one.frames().at(-1)).toBe('agentrt.status')
    expect(b.live()).toHaveLength(1)
  })

  // A frozen or crashed tab must not collect messages for ever, and a frozen one must miss nothing.
  it('leave out a tab that does not answer, which reads everything again when it is back', async () => {
    const b = browser()
    const [one, two] = [b.open(), b.open()]
    await settle()
    await b.last().send(hello)
    two.freeze(true)
    for (let second = 0; second < 90; second += 2) {
      await vi.advanceTimersByTimeAsync(2_000)
      await b.last().send(':\n\n')
    }
    const before = two.said.length
    await b.last().send('id: 2\nevent: task.changed\ndata: {}\n\n')
    expect(two.said).toHaveLength(before)
    expect(one.frames()).toEqual(['hello', 'task.changed'])
    two.freeze(false)
    two.send({ kind: 'here' })
    expect(two.frames()).toEqual(['hello', 'reset'])
    await b.last().send('id: 3\nevent: task.changed\ndata: {}\n\n')
    expect(two.frames()).toEqual(['hello', 'reset', 'task.changed'])
    expect(b.lines).toHaveLength(1)
  })

  it('reset a tab that was the only one and frozen', async () => {
    const b = browser()
    const tab = b.open()
    await settle()
    await b.last().send(hello)
    tab.freeze(true)
    await vi.advanceTimersByTimeAsync(90_000)
    expect(b.live()).toEqual([])
    tab.freeze(false)
    tab.send({ kind: 'nudge' })
    await settle()
    await b.last().send(hello)
    expect(tab.frames()).toEqual(['hello', 'reset'])
    expect(b.live()).toHaveLength(1)
  })
})

// A tab that waited at the sign-in page must not end up with a stream of its own: seven of them would block each other.
it('a tab shares the streams however long nobody was signed in', async () => {
  const said: FromTab[] = []
  const ports: { onmessage: ((e: { data: ToTab }) => void) | null }[] = []
  vi.stubGlobal(
    'SharedWorker',
    class {
      port = { onmessage: null, close: () => undefined, postMessage: (what: FromTab) => said.push(what) }
      constructor() {
        ports.push(this.port)
      }
    },
  )
  vi.stubGlobal('fetch', () => new Promise(() => undefined))
  const joinedAnew = vi.fn()
  const to = connect(() => undefined, joinedAnew)
  to.send({ kind: 'leave' })
  await vi.advanceTimersByTimeAsync(300_000)
  to.send({ kind: 'join', token: 'ada' })
  await vi.advanceTimersByTimeAsync(4_000)
  ports[0]?.onmessage?.({ data: { kind: 'beat' } })
  await vi.advanceTimersByTimeAsync(20_000)
  to.send({ kind: 'leave' })
  await vi.advanceTimersByTimeAsync(300_000)
  expect(to.isShared()).toBe(true)
  expect(ports).toHaveLength(1)
  expect(said.map(s => s.kind)).toEqual(['leave', 'join', 'here', 'leave'])
  expect(joinedAnew).not.toHaveBeenCalled()
  // A worker that is silent although the tab has joined is gone.
  to.send({ kind: 'join', token: 'ada' })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(joinedAnew).toHaveBeenCalled()
})
