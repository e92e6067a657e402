import { readMarkdown } from '../ui/markdown'
import { textOf } from '../ui/plainText'

const longest = 200

/** Returns the first sentence of a Markdown text without markup, or null. Blocks that say only `known` are skipped. */
export function headline(text: string | null, known = ''): string | null {
  const first = readMarkdown(text ?? '').find(
    b => b.kind !== 'heading' && b.kind !== 'rule' && !['', known].includes(textOf([b]).trim()),
  )
  if (!first) return null
  const line = textOf(first.kind === 'list' ? (first.items[0]?.of ?? []) : [first])
    .replace(/\s+/g, ' ')
    .trim()
  const sentence = /^.*?[.!?](?=\s+\p{Lu}|$)/u.exec(line)?.[0] ?? line
  return sentence.length > longest ? `${sentence.slice(0, longest - 1)}…` : sentence
}
