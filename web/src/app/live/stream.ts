import { type Frame, SseParser } from '../../api/sse'

/** How the line to the service is. `heardAt` is when something last came, in ms; null before that. */
export interface Line {
  state: 'live' | 'stale' | 'offline'
  heardAt: number | null
}

/** What the stream needs from outside, so that tests can be the outside. */
export interface Outside {
  fetch: typeof fetch
  now: () => number
  random: () => number
  token: () => string | null
  /** Keys of the sessions of which every message is wanted. */
  sessions?: () => readonly string[]
  onFrame: (frame: Frame) => void
  onLine: (line: Line) => void
  /** The service ended the stream, or refused it, because of who is asking. */
  onRefused: (token: string, code: string) => void
}

/** Something comes every 15 s. After this long without it what is shown is called stale. */
export const quietFor = 20_000
/** After this long the line is dead: it is opened anew. */
export const deadAfter = 30_000
const lookEvery = 1_000
const longestWait = 30_000
/** A clock that jumps by this much has slept. */
const slept = 15_000

/**
 * The one stream of a tab. It opens, reads, comes back with the last id that it
 * saw, and says how the line is; what the frames mean is told elsewhere.
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

  /** The machine is back on a network, or the tab is looked at again: do not wait any longer. */
  nudge(): void {
    if (this.look === null) return
    const heard = this.line.heardAt
    if (this.control !== null && heard !== null && this.out.now() - heard < quietFor) return
    this.failures = 0
    this.reopen()
  }

  /** Other sessions are wanted than before: asks for them, and goes on where it was. */
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
    // A line that was just opened has as long as any other to say something.
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
    // A server that takes the connection and says nothing must not hold us.
    const limit = setTimeout(() => control.abort(), deadAfter)
    let wait: number | null = null
    try {
      const headers = new Headers({ Authorization: `Bearer ${token}`, Accept: 'text/event-stream' })
      if (this.lastId) headers.set('Last-Event-ID', this.lastId)
      const followed = (this.out.sessions?.() ?? []).map(encodeURIComponent).join(',')
      const where = `/api/v1/events${followed && `?session=${followed}`}`
      const answer = await this.out.fetch(where, { headers, signal: control.signal, cache: 'no-store' })
      clearTimeout(limit)
      if (!mine()) return
      if (answer.status === 401 || answer.status === 403) {
        const problem: unknown = await answer.json().catch(() => null)
        return this.refuse(token, codeOf(problem))
      }
      if (!answer.ok || !answer.body) {
        wait = Number(answer.headers.get('Retry-After') ?? 0) * 1000 || null
      } else if (await this.read(answer.body, mine, token)) return
    } catch {
      // The line broke; what we were told until then counts.
    } finally {
      clearTimeout(limit)
    }
    if (!mine()) return
    this.control = null
    this.later(wait)
  }

  /** Reads until the end. True when one must not come back. */
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
        // After the frame was dealt with: what failed is told again.
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
    // The first time it is probably a restart: what is on screen is merely stale.
    this.tell({ ...this.line, state: this.failures < 2 && this.line.heardAt !== null ? 'stale' : 'offline' })
    const grown = Math.min(longestWait, this.retry * 2 ** Math.max(0, this.failures - 2))
    // Half of it by chance, so that a hundred tabs do not come back at once.
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

/** JSON, or null when it is none. */
export function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return null
  }
}

const codeOf = (v: unknown): string =>
  typeof v === 'object' && v !== null && 'code' in v && typeof v.code === 'string' ? v.code : ''
