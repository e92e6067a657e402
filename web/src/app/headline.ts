import { type Block, type Inline, readMarkdown } from '../ui/markdown'

const plain = (nodes: readonly (Block | Inline)[]): string =>
  nodes
    .map(n => {
      if (n.kind === 'break') return ' '
      if ('text' in n) return n.text
      if ('items' in n) return n.items.map(i => plain(i.of)).join(' ')
      return 'of' in n ? plain(n.of) : ''
    })
    .join('')

const longest = 200

/** Returns the first sentence of a Markdown text without markup, or null. */
export function headline(text: string | null): string | null {
  const first = readMarkdown(text ?? '').find(b => b.kind !== 'heading' && b.kind !== 'rule' && plain([b]).trim())
  if (!first) return null
  const line = plain(first.kind === 'list' ? (first.items[0]?.of ?? []) : [first])
    .replace(/\s+/g, ' ')
    .trim()
  const sentence = /^.*?[.!?](?=\s+\p{Lu}|$)/u.exec(line)?.[0] ?? line
  return sentence.length > longest ? `${sentence.slice(0, longest - 1)}…` : sentence
}
