/** A server-sent event. */
export interface Frame {
  event: string
  data: string
  /** The last event ID of the stream so far; empty when there was none. */
  id: string
}

const cr = '\r'

/** Parses server-sent events from chunks of bytes. A chunk may end within a character, a line break, or a line. */
export class SseParser {
  private readonly decoder = new TextDecoder('utf-8')
  private rest = ''
  private skipLf = false
  private data: string[] = []
  private event = ''
  /** The last event ID, including that of an incomplete event. */
  private id = ''
  /** The reconnection delay that the stream asked for, in ms. */
  retry: number | null = null

  /** Returns the events that this chunk completes. */
  push(piece: Uint8Array): Frame[] {
    const frames: Frame[] = []
    let text = this.decoder.decode(piece, { stream: true })
    if (this.skipLf && text !== '') {
      if (text.startsWith('\n')) text = text.slice(1)
      this.skipLf = false
    }
    // A trailing CR may be half of a CRLF. The line ends either way.
    this.skipLf = text === '' ? this.skipLf : text.endsWith(cr)
    const lines = (this.rest + text).split(/\r\n|\r|\n/)
    this.rest = lines.pop() ?? ''
    for (const line of lines) {
      const frame = this.line(line)
      if (frame) frames.push(frame)
    }
    return frames
  }

  private line(line: string): Frame | null {
    if (line === '') return this.dispatch()
    const colon = line.indexOf(':')
    if (colon === 0) return null // a comment
    const field = colon < 0 ? line : line.slice(0, colon)
    let value = colon < 0 ? '' : line.slice(colon + 1)
    if (value.startsWith(' ')) value = value.slice(1)
    if (field === 'data') this.data.push(value)
    else if (field === 'event') this.event = value
    else if (field === 'id' && !value.includes('\0')) this.id = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retry = Number(value)
    return null
  }

  private dispatch(): Frame | null {
    const { data, event } = this
    this.data = []
    this.event = ''
    return data.length === 0 ? null : { event: event || 'message', data: data.join('\n'), id: this.id }
  }
}
