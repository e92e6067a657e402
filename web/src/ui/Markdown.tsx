import { Fragment, memo, type ReactNode, useMemo } from 'react'
import { type Block, type Column, type Inline, readMarkdown } from './markdown'
import { masked } from './Redacted'
import { TextLink } from './TextLink'

// Index keys are fine: the tree is rendered anew whenever the text changes.
const keyed = <T,>(nodes: T[], draw: (node: T, words: Words) => ReactNode, words: Words): ReactNode[] =>
  // biome-ignore lint/suspicious/noArrayIndexKey: see above
  nodes.map((node, i) => <Fragment key={i}>{draw(node, words)}</Fragment>)

/** Renders a text without markup. */
type Words = (text: string) => ReactNode

/** Renders the task keys of a text as links. */
const linked: Words = text =>
  text.split(/(\bTASK-\d+\b)/).map((part, i) =>
    i % 2 === 0 ? (
      masked(part)
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text
      <TextLink key={i} className="key text-accent underline" href={`/tasks/${part}`}>
        {part}
      </TextLink>
    ),
  )

function inline(node: Inline, words: Words): ReactNode {
  switch (node.kind) {
    case 'text':
      return words(node.text)
    case 'code':
      return <code>{masked(node.text)}</code>
    case 'break':
      return <br />
    case 'strong':
      return <strong>{keyed(node.of, inline, words)}</strong>
    case 'em':
      return <em>{keyed(node.of, inline, words)}</em>
    case 'strike':
      return <s>{keyed(node.of, inline, words)}</s>
    case 'link':
      return (
        <a href={node.href} rel="noopener noreferrer nofollow" target="_blank" title={node.href}>
          {keyed(node.of, inline, masked)}
        </a>
      )
  }
}

function block(node: Block, words: Words): ReactNode {
  switch (node.kind) {
    case 'paragraph':
      return <p>{keyed(node.of, inline, words)}</p>
    case 'heading': {
      const Tag = `h${node.level}` as const
      return <Tag>{keyed(node.of, inline, words)}</Tag>
    }
    case 'code':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable
        <pre tabIndex={0}>
          <code>{masked(node.text)}</code>
        </pre>
      )
    case 'quote':
      return <blockquote>{keyed(node.of, block, words)}</blockquote>
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable
        <div className="overflow-x-auto" tabIndex={0}>
          <table>
            <thead>{row('th', node.head, node.columns, words)}</thead>
            <tbody>{keyed(node.rows, cells => row('td', cells, node.columns, words), words)}</tbody>
          </table>
        </div>
      )
    case 'rule':
      return <hr className="border-line" />
    case 'list': {
      const items = keyed(
        node.items,
        item => (
          <li>
            {item.done !== null && (
              <input
                aria-label={item.done ? 'done' : 'open'}
                checked={item.done}
                className="mr-1.5 align-[-2px]"
                disabled
                readOnly
                type="checkbox"
              />
            )}
            {item.of.length === 1 && item.of[0]?.kind === 'paragraph'
              ? keyed(item.of[0].of, inline, words)
              : keyed(item.of, block, words)}
          </li>
        ),
        words,
      )
      return node.ordered ? <ol start={node.start}>{items}</ol> : <ul>{items}</ul>
    }
  }
}

const aligned: Record<Column, string> = { left: 'text-left', center: 'text-center', right: 'text-right tabular-nums' }

/** Rows of wider tables are not filled up with empty cells, so that a small hostile text can't make billions of them. */
const mostFilled = 20

function row(Cell: 'th' | 'td', cells: Inline[][], columns: Column[], words: Words): ReactNode {
  return (
    <tr>
      {(columns.length > mostFilled ? cells : columns.map((_, i) => cells[i] ?? [])).map((cell, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Cell key={i} className={aligned[columns[i] ?? 'left']}>
          {keyed(cell, inline, words)}
        </Cell>
      ))}
    </tr>
  )
}

interface Props {
  text: string
  /** Whether task keys are links. */
  keys?: boolean
  className?: string
}

/** Renders Markdown from agents and users as React elements: no HTML, no images, no unsafe links. */
export const Markdown = memo(function Markdown({ text, keys = false, className = '' }: Props) {
  const tree = useMemo(() => readMarkdown(text), [text])
  return (
    <div className={`prose-safe wrap-anywhere min-w-0 ${className}`} dir="auto">
      {keyed(tree, block, keys ? linked : masked)}
    </div>
  )
})
