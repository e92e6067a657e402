import { type Block, type Inline, readMarkdown } from './markdown'

/** Returns the text of Markdown nodes, with blocks, items, and lines separated by `gap`. */
export const textOf = (nodes: readonly (Block | Inline)[], gap = ' '): string =>
  nodes
    .map((n, i) => {
      const apart = i > 0 && isBlock(n) ? gap : ''
      if (n.kind === 'break') return gap
      if ('text' in n) return apart + n.text
      if ('rows' in n)
        return (
          apart +
          [n.head, ...n.rows]
            .flat()
            .map(cell => textOf(cell, gap))
            .join(gap)
        )
      if ('items' in n) return apart + n.items.map(item => textOf(item.of, gap)).join(gap)
      return 'of' in n ? apart + textOf(n.of, gap) : ''
    })
    .join('')

const isBlock = (n: Block | Inline): boolean => /^(paragraph|heading|code|quote|list|table)$/.test(n.kind)

/** Marks that a shortened text opens but never closes, or that stood at the start of a line before lines were joined. */
const leftover = /\*\*|__|~~|`+(?:json|\w{2,10}(?=\s))?|(?:^|\s)(?:#{1,6}|>)(?=\s)|\|(?:[\s:|-]*-[\s:|-]*\|)?/g

/** A heading before a list, in a text whose lines were joined. */
const headed = /(?<=^| )#{1,6} +([^#\n]{1,40}?) +[-*] (?=\S)/g

/** A block of JSON, which is meant for programs. The text may end within it. */
const data = /```json\s[\s\S]*?(?:```|$)/g

/**
 * Returns a Markdown text on one line without its markup, such as an agent's last words in a list. The text may be
 * shortened, and its lines already joined.
 */
export const plainText = (text: string | null | undefined): string =>
  textOf(readMarkdown((text ?? '').replace(data, ' ').replace(headed, '$1: ')))
    .replace(leftover, ' ')
    .replace(/(?<=[^\d\s])\s+[-*+]\s+(?=\S)/g, ' · ')
    .replace(/\s+/g, ' ')
    .replace(/ ([.,;:!?])(?=\s|$)/g, '$1')
    .trim()
