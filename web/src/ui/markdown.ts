// A small reader of Markdown. It makes a tree of a dozen kinds of nodes and
// nothing else: whatever is not one of them is text, so that no markup of an
// agent can become markup of ours. There is no HTML in it and there are no images.

export type Inline =
  | { kind: 'text' | 'code'; text: string }
  | { kind: 'strong' | 'em' | 'strike'; of: Inline[] }
  | { kind: 'link'; href: string; of: Inline[] }
  | { kind: 'break' }

export type Block =
  | { kind: 'paragraph'; of: Inline[] }
  | { kind: 'heading'; level: 3 | 4 | 5; of: Inline[] }
  | { kind: 'code'; text: string; language: string }
  | { kind: 'quote'; of: Block[] }
  | { kind: 'list'; ordered: boolean; start: number; items: { done: boolean | null; of: Block[] }[] }
  | { kind: 'rule' }

/** Deeper nesting than this is text: what is nested a thousand times is an attack. */
const deepest = 6

/** The address of a link when it is one that may be followed, else null. */
export function safeHref(href: string): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers leave them out when they read a scheme
  const plain = href.replace(/[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g, '')
  if (!/^(https?:\/\/[^/]|mailto:[^/])/i.test(plain)) return null
  try {
    const url = new URL(plain)
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) && !url.username && !url.password ? url.href : null
  } catch {
    return null
  }
}

export function readMarkdown(text: string, depth = 0): Block[] {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const blocks: Block[] = []
  let paragraph: string[] = []
  const close = () => {
    if (paragraph.length > 0) blocks.push({ kind: 'paragraph', of: readInline(paragraph.join('\n')) })
    paragraph = []
  }
  for (let i = 0; i < lines.length; ) {
    const line = lines[i] ?? ''
    const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/.exec(line)
    const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line)
    if (fence) {
      close()
      const [mark = '```', language = ''] = [fence[1], fence[2]]
      const body: string[] = []
      for (i++; i < lines.length && !(lines[i] ?? '').trim().startsWith(mark); i++) body.push(lines[i] ?? '')
      i++
      blocks.push({ kind: 'code', text: body.join('\n'), language })
    } else if (heading) {
      close()
      const level = Math.min(5, (heading[1] ?? '#').length + 2) as 3 | 4 | 5
      blocks.push({ kind: 'heading', level, of: readInline(heading[2] ?? '') })
      i++
    } else if (/^ {0,3}([-*_])(?:\s*\1){2,}\s*$/.test(line)) {
      close()
      blocks.push({ kind: 'rule' })
      i++
    } else if (depth < deepest && /^ {0,3}>/.test(line)) {
      close()
      const body: string[] = []
      for (; i < lines.length && /^ {0,3}>/.test(lines[i] ?? ''); i++)
        body.push((lines[i] ?? '').replace(/^ {0,3}> ?/, ''))
      blocks.push({ kind: 'quote', of: readMarkdown(body.join('\n'), depth + 1) })
    } else if (depth < deepest && item.test(line)) {
      close()
      const [list, next] = readList(lines, i, depth)
      blocks.push(list)
      i = next
    } else {
      if (line.trim() === '') close()
      else paragraph.push(line.trimStart())
      i++
    }
  }
  close()
  return blocks
}

const item = /^( {0,3})([-*+]|\d{1,9}[.)])\s+(.*)$/

function readList(lines: string[], from: number, depth: number): [Block, number] {
  const first = item.exec(lines[from] ?? '')
  const ordered = /\d/.test(first?.[2] ?? '')
  const items: { done: boolean | null; of: Block[] }[] = []
  let i = from
  while (i < lines.length) {
    const found = item.exec(lines[i] ?? '')
    if (!found || /\d/.test(found[2] ?? '') !== ordered) break
    const inset = (found[1] ?? '').length + (found[2] ?? '').length + 1
    const body = [found[3] ?? '']
    for (i++; i < lines.length; i++) {
      const line = lines[i] ?? ''
      const indent = line.length - line.trimStart().length
      if (line.trim() !== '' && (indent >= Math.min(inset, 2) || (!item.test(line) && body.at(-1) !== ''))) {
        if (indent < Math.min(inset, 2) && /^ {0,3}(>|#|```)/.test(line)) break
        body.push(line.slice(Math.min(indent, inset)))
      } else if (line.trim() === '' && /^\s{2,}\S/.test(lines[i + 1] ?? '')) body.push('')
      else break
    }
    while (i < lines.length && (lines[i] ?? '').trim() === '' && item.test(lines[i + 1] ?? '')) i++
    const task = /^\[([ xX])\]\s+/.exec(body[0] ?? '')
    if (task) body[0] = (body[0] ?? '').slice(task[0].length)
    items.push({ done: task ? task[1] !== ' ' : null, of: readMarkdown(body.join('\n'), depth + 1) })
  }
  return [{ kind: 'list', ordered, start: Number.parseInt(first?.[2] ?? '1', 10) || 1, items }, i]
}

const marks: { open: string; kind: 'strong' | 'em' | 'strike' }[] = [
  { open: '**', kind: 'strong' },
  { open: '__', kind: 'strong' },
  { open: '~~', kind: 'strike' },
  { open: '*', kind: 'em' },
  { open: '_', kind: 'em' },
]

export function readInline(text: string, depth = 0): Inline[] {
  const out: Inline[] = []
  let plain = ''
  const flush = () => {
    if (plain) out.push({ kind: 'text', text: plain })
    plain = ''
  }
  const push = (node: Inline) => {
    flush()
    out.push(node)
  }
  for (let i = 0; i < text.length; ) {
    const rest = text.slice(i, i + 4000)
    const c = text[i] ?? ''
    const nests = depth < deepest
    const code = c === '`' ? /^(`+)([\s\S]*?[^`])\1(?!`)/.exec(rest) : null
    const link =
      nests && c === '[' ? /^\[([^[\]]{1,500})\]\(\s*<?([^\s<>()]{1,2000})>?(?:\s+"[^"]*")?\s*\)/.exec(rest) : null
    const bare =
      nests && (c === 'h' || c === 'H') && !/\w/.test(text[i - 1] ?? '')
        ? /^https?:\/\/[^\s<>"'`\]]{1,2000}/i.exec(rest)
        : null
    if (c === '\\' && /[\\`*_{}[\]()#+\-.!~>|]/.test(text[i + 1] ?? '')) {
      plain += text[i + 1]
      i += 2
    } else if (c === '\n') {
      push({ kind: 'break' })
      i++
    } else if (code) {
      push({ kind: 'code', text: (code[2] ?? '').replace(/\n/g, ' ').replace(/^ (.*) $/, '$1') })
      i += code[0].length
    } else if (link) {
      const href = safeHref(link[2] ?? '')
      // What must not be followed stays what it was, so that one sees it.
      push(href ? { kind: 'link', href, of: readInline(link[1] ?? '', deepest) } : { kind: 'text', text: link[0] })
      i += link[0].length
    } else if (bare) {
      const shown = bare[0].replace(/[.,;:!?)*_]+$/, '')
      const href = safeHref(shown)
      push(href ? { kind: 'link', href, of: [{ kind: 'text', text: shown }] } : { kind: 'text', text: shown })
      i += shown.length
    } else {
      const node = depth < deepest ? emphasis(text, i, rest, depth) : null
      if (node) {
        push(node[0])
        i += node[1]
      } else {
        plain += c
        i++
      }
    }
  }
  flush()
  return out
}

function emphasis(text: string, i: number, rest: string, depth: number): [Inline, number] | null {
  for (const { open, kind } of marks) {
    if (!rest.startsWith(open) || /\s/.test(rest[open.length] ?? ' ')) continue
    if (open.startsWith('_') && /\w/.test(text[i - 1] ?? '')) return null
    let end = rest.indexOf(open, open.length + 1)
    while (
      end > 0 &&
      (/\s/.test(rest[end - 1] ?? '') || (open.startsWith('_') && /\w/.test(rest[end + open.length] ?? '')))
    ) {
      end = rest.indexOf(open, end + 1)
    }
    if (end > 0) return [{ kind, of: readInline(rest.slice(open.length, end), depth + 1) }, end + open.length]
  }
  return null
}
