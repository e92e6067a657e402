import type { Frame } from '../../api/sse'
import { type Line, LiveStream, type Outside, parse } from './stream'

/** What a tab sends to the shared streams. */
export type FromTab =
  /** Asks for the events of the user with this token. */
  | { kind: 'join'; token: string }
  /** Replaces the keys of the sessions whose messages the tab needs. */
  | { kind: 'follow'; keys: readonly string[] }
  /** Reconnects if nothing was received lately. */
  | { kind: 'nudge' }
  /** Answers a beat. */
  | { kind: 'here' }
  | { kind: 'leave' }

/** What a tab receives. */
export type ToTab =
  /** `moved` marks the hello of a stream that reconnected only to follow other sessions. */
  | { kind: 'frame'; frame: Frame; moved: boolean }
  | { kind: 'line'; line: Line }
  | { kind: 'foreign'; what: string | null }
  | { kind: 'refused'; token: string; code: string }
  /** Comes every 5 s; a tab that doesn't answer is gone or frozen. */
  | { kind: 'beat' }

/** The end of a channel to a tab: a MessagePort. */
export interface TabPort {
  postMessage: (said: ToTab) => void
  onmessage: ((e: MessageEvent<FromTab>) => void) | null
}

interface Tab {
  port: TabPort
  token: string | null
  keys: readonly string[]
  /** When the tab was last heard, in ms. */
  seenAt: number
  /** Whether the tab was given up, because it didn't answer. */
  lost: boolean
  /** Whether the tab has missed events, so that it must read everything again. */
  behind: boolean
}

interface Shared {
  stream: LiveStream
  line: Line
  foreign: string | null
  greeted: boolean
  /** The keys that the stream follows. */
  keys: readonly string[]
  /** The tabs for which a live stream reconnects, to follow their sessions as well. */
  moving: Set<Tab>
  refollow: ReturnType<typeof setTimeout> | undefined
  /** The state of the gateway that was sent last. */
  gateway: string
}

/** The server's limit for followed sessions per stream. */
const mostFollowed = 50
export const beatEvery = 5_000
/** After this long without an answer, a tab gets nothing more, so that a frozen one doesn't collect messages. */
const lostAfter = 60_000
/** Collects the changes of a tab that switches sessions, so that the stream reconnects once. */
const gather = 50

/** Returns what identifies a state of the gateway: its name and when it began. */
function stateOf(frame: Frame): string {
  const { state, since } = (parse(frame.data) ?? {}) as { state?: unknown; since?: unknown }
  return `${state} ${since}`
}

/** One event stream per user for all tabs. Runs in a shared worker, or in the tab itself where there is none. */
export class Sharing {
  private readonly out: Pick<Outside, 'fetch' | 'now' | 'random'>
  private readonly tabs = new Set<Tab>()
  private readonly streams = new Map<string, Shared>()
  private beat: ReturnType<typeof setInterval> | null = null
  private beatAt = 0

  constructor(out: Pick<Outside, 'fetch' | 'now' | 'random'>) {
    this.out = out
  }

  /** Listens to a tab. */
  add(port: TabPort): void {
    const tab: Tab = { port, token: null, keys: [], seenAt: this.out.now(), lost: false, behind: false }
    port.onmessage = e => this.hear(tab, e.data)
  }

  private hear(tab: Tab, said: FromTab): void {
    tab.seenAt = this.out.now()
    if (said.kind === 'leave') {
      this.leave(tab)
      return
    }
    if (tab.lost && tab.token !== null) {
      tab.behind = true
      this.join(tab, tab.token)
    }
    if (said.kind === 'join') this.join(tab, said.token)
    else if (said.kind === 'follow') this.follow(tab, said.keys)
    else if (said.kind === 'nudge') this.sharedBy(tab)?.stream.nudge()
  }

  private join(tab: Tab, token: string): void {
    if (tab.token !== token) this.leave(tab)
    tab.token = token
    tab.lost = false
    this.tabs.add(tab)
    this.startBeat()
    const was = this.streams.get(token)
    if (!was) {
      this.open(token)
      return
    }
    tab.port.postMessage({ kind: 'line', line: was.line })
    tab.port.postMessage({ kind: 'foreign', what: was.foreign })
    if (was.greeted) this.greet(tab, { event: 'hello', data: '{}', id: '' }, false)
    // A tab was opened or is back, so its user is looking.
    was.stream.nudge()
    if (tab.keys.length > 0) this.follow(tab, tab.keys)
  }

  private leave(tab: Tab): void {
    const { token } = tab
    this.tabs.delete(tab)
    tab.token = null
    tab.lost = tab.behind = false
    if (token !== null && this.tabsOf(token).length === 0) this.close(token)
    if (this.tabs.size === 0 && this.beat !== null) {
      clearInterval(this.beat)
      this.beat = null
    }
  }

  private tabsOf(token: string): Tab[] {
    return [...this.tabs].filter(tab => tab.token === token)
  }

  private sharedBy(tab: Tab): Shared | undefined {
    return tab.token === null ? undefined : this.streams.get(tab.token)
  }

  private open(token: string): void {
    const tell = (said: ToTab) => {
      for (const tab of this.tabsOf(token)) tab.port.postMessage(said)
    }
    const shared: Shared = {
      stream: new LiveStream({
        ...this.out,
        token: () => token,
        sessions: () => {
          shared.keys = [...new Set(this.tabsOf(token).flatMap(tab => tab.keys))].slice(-mostFollowed)
          return shared.keys
        },
        onFrame: frame => this.pass(token, shared, frame),
        onLine: line => {
          shared.line = line
          if (line.state !== 'live') shared.moving.clear()
          tell({ kind: 'line', line })
        },
        onForeign: what => {
          if (what === shared.foreign) return
          shared.foreign = what
          tell({ kind: 'foreign', what })
        },
        onRefused: (of, code) => {
          tell({ kind: 'refused', token: of, code })
          this.close(token)
        },
      }),
      line: { state: 'offline', heardAt: null },
      foreign: null,
      greeted: false,
      keys: [],
      moving: new Set(),
      refollow: undefined,
      gateway: '',
    }
    this.streams.set(token, shared)
    shared.stream.start()
  }

  private close(token: string): void {
    const shared = this.streams.get(token)
    this.streams.delete(token)
    clearTimeout(shared?.refollow)
    shared?.stream.stop()
  }

  private pass(token: string, shared: Shared, frame: Frame): void {
    const moved = shared.moving.size > 0
    if (frame.event === 'hello' || frame.event === 'reset') {
      shared.greeted = true
      for (const tab of this.tabsOf(token)) this.greet(tab, frame, moved)
      return
    }
    let to = this.tabsOf(token)
    if (frame.event === 'agentrt.status') {
      // Each stream begins with this frame, after which tabs read their sessions again. If the stream only follows more
      // sessions, that concerns the tabs that have opened them.
      const gateway = stateOf(frame)
      if (moved && gateway === shared.gateway) to = to.filter(tab => shared.moving.has(tab))
      shared.gateway = gateway
      shared.moving.clear()
    }
    for (const tab of to) tab.port.postMessage({ kind: 'frame', frame, moved: false })
  }

  private greet(tab: Tab, frame: Frame, moved: boolean): void {
    tab.port.postMessage({ kind: 'frame', frame: tab.behind ? { ...frame, event: 'reset' } : frame, moved })
    tab.behind = false
  }

  private follow(tab: Tab, keys: readonly string[]): void {
    tab.keys = keys
    const shared = this.sharedBy(tab)
    if (!shared || keys.every(key => shared.keys.includes(key))) return
    if (shared.line.state === 'live') shared.moving.add(tab)
    shared.refollow ??= setTimeout(() => {
      shared.refollow = undefined
      shared.stream.refollow()
    }, gather)
  }

  private startBeat(): void {
    if (this.beat !== null) return
    this.beatAt = this.out.now()
    this.beat = setInterval(() => {
      const now = this.out.now()
      const slept = now - this.beatAt > 3 * beatEvery
      this.beatAt = now
      for (const tab of this.tabs) {
        // Tabs sleep along with the machine.
        if (slept) tab.seenAt = now
        if (now - tab.seenAt > lostAfter) this.lose(tab)
        else tab.port.postMessage({ kind: 'beat' })
      }
    }, beatEvery)
  }

  private lose(tab: Tab): void {
    const { token } = tab
    this.leave(tab)
    // Its next message brings it back.
    tab.token = token
    tab.lost = true
  }
}
