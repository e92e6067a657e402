import { endsSignIn, foreignWhat, problemOf } from '../../api/problem'
import { type Frame, SseParser } from '../../api/sse'
import { tokenHeader } from '../../api/tokenHeader'
import { base } from '../base'

/** State of the stream. `heardAt` is when the last data arrived, in ms; null before that. */
export interface Line {
  state: 'live' | 'stale' | 'offline'
  heardAt: number | null
}

/** The dependencies of the stream, injected for tests. */
export interface Outside {
  fetch: typeof fetch
  now: () => number
  random: () => number
  token: () => string | null
  /** Keys of the sessions to follow in full. */
  sessions?: () => readonly string[]
  onFrame: (frame: Frame) => void
  onLine: (line: Line) => void
  /** Called with what answered instead of Wardroom, such as `HTTP 401`, and with null once Wardroom answers. */
  onForeign: (what: string | null) => void
  /** Called when the server rejects the stream because of the token or the account. */
  onRefused: (token: string, code: string) => void
}

/** The server sends something every 2 s. After this long without data the stream counts as stale. */
const quietFor = 4_000
/** After this long without data the stream reconnects. */
const deadAfter = 15_000
const lookEvery = 1_000
const longestWait = 30_000
/** A timer that is late by this much means the machine was asleep. */
const slept = 15_000

/**
 * An event stream. It reconnects with the last event ID and reports its state; patches interpret the frames.
 */
export class LiveStream {
  private readonly out: Outside
  private lastId = ''
  private line: Line = { state: 'offline', heardAt: null }
  private failures = 0
  private retry = 2_000
  private control: AbortController | null = null
  private again: ReturnType<typeof setTimeout> | null = null
  private look: ReturnType<typeof setInterval> | null = null
  private lookedAt = 0
  private openedAt = 0

  constructor(out: Outside) {
    this.out = out
  }

  start(): void {
    if (this.look !== null) return
    this.lookedAt = this.out.now()
    this.look = setInterval(() => this.watch(), lookEvery)
    void this.open()
  }

  stop(): void {
    if (this.look !== null) clearInterval(this.look)
    if (this.again !== null) clearTimeout(this.again)
    this.look = this.again = null
    this.control?.abort()
    this.control = null
    this.lastId = ''
    this.failures = 0
    this.tell({ state: 'offline', heardAt: null })
  }

  /** Reconnects at once if the stream is quiet, for when the network is back or the tab is visible again. */
  nudge(): void {
    if (this.look === null) return
    const last = Math.max(this.line.heardAt ?? 0, this.openedAt)
    if (this.control !== null && this.out.now() - last < quietFor) return
    this.failures = 0
    this.reopen()
  }

  /** Reconnects to follow other sessions, and resumes at the last event. */
  refollow(): void {
    if (this.control !== null) this.reopen()
  }

  private watch(): void {
    const now = this.out.now()
    const gap = now - this.lookedAt
    this.lookedAt = now
    if (gap > slept) {
      this.nudge()
      return
    }
    const quiet = this.line.heardAt === null ? 0 : now - this.line.heardAt
    if (this.control === null) return
    if (this.line.state === 'live' && quiet > quietFor) this.tell({ ...this.line, state: 'stale' })
    // A new connection gets the full time to send its first data.
    if (now - Math.max(this.line.heardAt ?? 0, this.openedAt) > deadAfter) this.reopen()
  }

  private reopen(): void {
    this.control?.abort()
    this.control = null
    if (this.again !== null) clearTimeout(this.again)
    this.again = null
    void this.open()
  }

  private async open(): Promise<void> {
    const token = this.out.token()
    if (token === null || this.look === null) return
    const control = new AbortController()
    this.control = control
    this.openedAt = this.out.now()
    const mine = () => this.control === control
    // Gives up on a server that accepts the connection but sends nothing.
    const limit = setTimeout(() => control.abort(), deadAfter)
    let wait: number | null = null
    try {
      const headers = new Headers({ [tokenHeader]: token, Accept: 'text/event-stream' })
      if (this.lastId) headers.set('Last-Event-ID', this.lastId)
      const followed = (this.out.sessions?.() ?? []).map(encodeURIComponent).join(',')
      const where = `${base}/api/v1/events${followed && `?session=${followed}`}`
      const asked = { headers, signal: control.signal, cache: 'no-store', redirect: 'manual' } as const
      const answer = await this.out.fetch(where, asked)
      clearTimeout(limit)
      const problem = await problemOf(answer, true)
      if (!mine()) return
      this.out.onForeign(problem && foreignWhat(problem))
      if (problem && endsSignIn(problem)) return this.refuse(token, problem.code)
      if (problem || !answer.body) wait = (problem?.retryAfter ?? 0) * 1000 || null
      else if (await this.read(answer.body, mine, token)) return
    } catch {
      // The connection broke. Frames received until then count.
      if (mine()) this.out.onForeign(null)
    } finally {
      clearTimeout(limit)
    }
    if (!mine()) return
    this.control = null
    this.later(wait)
  }

  /** Reads until the stream ends. Returns true when it must not reconnect. */
  private async read(body: ReadableStream<Uint8Array>, mine: () => boolean, token: string): Promise<boolean> {
    const parser = new SseParser()
    const reader = body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (!mine()) {
        void reader.cancel().catch(() => undefined)
        return true
      }
      if (done) return false
      this.tell({ state: 'live', heardAt: this.out.now() })
      for (const frame of parser.push(value)) {
        if (parser.retry !== null) this.retry = parser.retry
        if (frame.event === 'end') {
          const code = codeOf(parse(frame.data))
          void reader.cancel().catch(() => undefined)
          if (code === 'token_invalid' || code === 'account_deactivated') {
            this.refuse(token, code)
            return true
          }
          return false
        }
        this.failures = 0
        this.out.onFrame(frame)
        // Only after the frame is handled, so that a failed one is sent again.
        if (frame.id) this.lastId = frame.id
      }
    }
  }

  private refuse(token: string, code: string): void {
    this.control = null
    this.tell({ ...this.line, state: 'offline' })
    this.out.onRefused(token, code)
  }

  private later(wait: number | null): void {
    if (this.look === null) return
    this.failures++
    // The first failure is probably a restart, so the data is only stale.
    this.tell({ ...this.line, state: this.failures < 2 && this.line.heardAt !== null ? 'stale' : 'offline' })
    const grown = Math.min(longestWait, this.retry * 2 ** Math.max(0, this.failures - 2))
    // Half of the delay is random, so that many tabs don't reconnect at once.
    const pause = wait ?? (this.failures === 1 ? 250 : grown / 2 + (grown / 2) * this.out.random())
    this.again = setTimeout(() => {
      this.again = null
      void this.open()
    }, pause)
  }

  private tell(line: Line): void {
    const changed = line.state !== this.line.state || line.heardAt !== this.line.heardAt
    this.line = line
    if (changed) this.out.onLine(line)
  }
}

/** Parses JSON, or returns null. */
export function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return null
  }
}

const codeOf = (v: unknown): string =>
  typeof v === 'object' && v !== null && 'code' in v && typeof v.code === 'string' ? v.code : ''
