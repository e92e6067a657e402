// Inline Markdown: text, code, emphasis, and links. See markdown.ts for the security rules.

export type Inline =
  | { kind: 'text' | 'code'; text: string }
  | { kind: 'strong' | 'em' | 'strike'; of: Inline[] }
  | { kind: 'link'; href: string; of: Inline[] }
  | { kind: 'break' }

/** Deeper nesting is plain text, as protection against hostile input. */
export const deepest = 6

/** Returns the address of a link if it is safe to follow, else null. */
export function safeHref(href: string): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers ignore them in a URL scheme
  const plain = href.replace(/[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g, '')
  if (!/^(https?:\/\/[^/]|mailto:[^/])/i.test(plain)) return null
  try {
    const url = new URL(plain)
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) && !url.username && !url.password ? url.href : null
  } catch {
    return null
  }
}

/** Returns the text without any of these characters at its end. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1] ?? ' ')) end--
  return text.slice(0, end)
}

/** An inline node and its length in characters. A null node is plain text. */
type Found = { node: Inline | null; length: number }

const lineBreak: Found = { node: { kind: 'break' }, length: 1 }

export function readInline(text: string, depth = 0): Inline[] {
  const out: Inline[] = []
  let plain = ''
  const flush = () => {
    if (plain) out.push({ kind: 'text', text: plain })
    plain = ''
  }
  const code = codeOf(text)
  const emphasis = emphasisOf(text, depth)
  for (let i = 0; i < text.length; ) {
    const c = text[i] ?? ''
    if (c === '\\' && /[\\`*_{}[\]()#+\-.!~>|]/.test(text[i + 1] ?? '')) {
      plain += text[i + 1]
      i += 2
      continue
    }
    const found =
      c === '`' ? code(i) : c === '\n' ? lineBreak : depth < deepest ? (linkAt(text, i) ?? emphasis(i)) : null
    if (found?.node) {
      flush()
      out.push(found.node)
    } else plain += text.slice(i, i + (found?.length ?? 1))
    i += found?.length ?? 1
  }
  flush()
  return out
}

/** Reads inline code, which ends with as many backticks as it starts with. */
function codeOf(text: string): (i: number) => Found {
  // The positions of backtick runs by length, last one first.
  let runs: Map<number, number[]> | null = null
  const read = () => {
    const found = new Map<number, number[]>()
    for (const { 0: ticks, index } of [...text.matchAll(/`+/g)].reverse()) {
      const places = found.get(ticks.length)
      if (places) places.push(index)
      else found.set(ticks.length, [index])
    }
    return found
  }
  return i => {
    runs ??= read()
    let length = 1
    while (text[i + length] === '`') length++
    const places = runs.get(length) ?? []
    while (places.length > 0 && (places.at(-1) ?? 0) <= i) places.pop()
    const end = places.at(-1)
    if (end === undefined) return { node: null, length }
    const inner = text.slice(i + length, end).replaceAll('\n', ' ')
    const padded = inner.length > 2 && inner.startsWith(' ') && inner.endsWith(' ')
    return { node: { kind: 'code', text: padded ? inner.slice(1, -1) : inner }, length: end + length - i }
  }
}

const named = /\[([^[\]]{1,500})\]\(\s{0,20}<?([^\s<>()]{1,2000})>?(?:\s{1,20}"[^"]{0,500}")?\s{0,20}\)/y
const bare = /https?:\/\/[^\s<>"'`\]]{1,2000}/iy

/** Reads a named link or a bare URL. */
function linkAt(text: string, i: number): Found | null {
  const c = text[i]
  if (c === '[') {
    named.lastIndex = i
    const link = named.exec(text)
    if (!link) return null
    const href = safeHref(link[2] ?? '')
    // An unsafe link stays plain text, so that the reader sees it.
    const node: Inline = href
      ? { kind: 'link', href, of: readInline(link[1] ?? '', deepest) }
      : { kind: 'text', text: link[0] }
    return { node, length: link[0].length }
  }
  if ((c !== 'h' && c !== 'H') || /\w/.test(text[i - 1] ?? '')) return null
  bare.lastIndex = i
  const address = bare.exec(text)
  if (!address) return null
  const shown = withoutEnd(address[0], '.,;:!?)*_')
  const href = safeHref(shown)
  const words: Inline = { kind: 'text', text: shown }
  return { node: href ? { kind: 'link', href, of: [words] } : words, length: shown.length }
}

const marks = [
  { open: '**', kind: 'strong' },
  { open: '__', kind: 'strong' },
  { open: '~~', kind: 'strike' },
  { open: '*', kind: 'em' },
  { open: '_', kind: 'em' },
] as const

/** Reads emphasis. Remembers where each mark can end next, so that unclosed marks don't cause repeated searches. */
function emphasisOf(text: string, depth: number): (i: number) => Found | null {
  const next = new Map<string, number>()
  const endOf = (open: string, from: number) => {
    let end = next.get(open) ?? 0
    if (end >= from) return end
    end = text.indexOf(open, from)
    while (
      end > 0 &&
      (/\s/.test(text[end - 1] ?? '') || (open.startsWith('_') && /\w/.test(text[end + open.length] ?? '')))
    ) {
      end = text.indexOf(open, end + 1)
    }
    if (end < 0) end = Number.POSITIVE_INFINITY
    next.set(open, end)
    return end
  }
  return i => {
    if (!'*_~'.includes(text[i] ?? ' ')) return null
    for (const { open, kind } of marks) {
      if (!text.startsWith(open, i) || /\s/.test(text[i + open.length] ?? ' ')) continue
      if (open.startsWith('_') && /\w/.test(text[i - 1] ?? '')) return null
      const end = endOf(open, i + open.length + 1)
      if (end < text.length) {
        const of = readInline(text.slice(i + open.length, end), depth + 1)
        return { node: { kind, of }, length: end + open.length - i }
      }
    }
    return null
  }
}
