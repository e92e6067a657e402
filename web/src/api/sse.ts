/** One message of a stream of Server-Sent Events. */
export interface Frame {
  event: string
  data: string
  /** The last id that the stream has named so far; empty when none was. */
  id: string
}

const cr = '\r'

/**
 * Reads a stream of Server-Sent Events from its bytes, in whatever pieces they
 * come: a piece may end within a letter, within a line end, or before a colon.
 */
export class SseParser {
  private readonly decoder = new TextDecoder('utf-8')
  private rest = ''
  private skipLf = false
  private data: string[] = []
  private event = ''
  /** The last id that was named, also by a message that is not finished. */
  private id = ''
  /** How long to wait before coming back, in ms, when the stream has said so. */
  retry: number | null = null

  /** The messages that are complete with this piece. */
  push(piece: Uint8Array): Frame[] {
    const frames: Frame[] = []
    let text = this.decoder.decode(piece, { stream: true })
    if (this.skipLf && text !== '') {
      if (text.startsWith('\n')) text = text.slice(1)
      this.skipLf = false
    }
    // A CR at the end may be half of a CRLF; its line ends with it in any case.
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
