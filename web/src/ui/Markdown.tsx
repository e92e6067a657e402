import { Fragment, memo, type ReactNode, useMemo } from 'react'
import { type Block, type Inline, readMarkdown } from './markdown'
import { masked } from './Redacted'

// Index keys are fine: the tree is rendered anew whenever the text changes.
const keyed = <T,>(nodes: T[], draw: (node: T) => ReactNode): ReactNode[] =>
  // biome-ignore lint/suspicious/noArrayIndexKey: see above
  nodes.map((node, i) => <Fragment key={i}>{draw(node)}</Fragment>)

function inline(node: Inline): ReactNode {
  switch (node.kind) {
    case 'text':
      return masked(node.text)
    case 'code':
      return <code>{masked(node.text)}</code>
    case 'break':
      return <br />
    case 'strong':
      return <strong>{keyed(node.of, inline)}</strong>
    case 'em':
      return <em>{keyed(node.of, inline)}</em>
    case 'strike':
      return <s>{keyed(node.of, inline)}</s>
    case 'link':
      return (
        <a href={node.href} rel="noopener noreferrer nofollow" target="_blank" title={node.href}>
          {keyed(node.of, inline)}
        </a>
      )
  }
}

function block(node: Block): ReactNode {
  switch (node.kind) {
    case 'paragraph':
      return <p>{keyed(node.of, inline)}</p>
    case 'heading': {
      const Tag = `h${node.level}` as const
      return <Tag>{keyed(node.of, inline)}</Tag>
    }
    case 'code':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable, so it must be focusable
        <pre tabIndex={0}>
          <code>{masked(node.text)}</code>
        </pre>
      )
    case 'quote':
      return <blockquote>{keyed(node.of, block)}</blockquote>
    case 'rule':
      return <hr className="border-line" />
    case 'list': {
      const items = keyed(node.items, item => (
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
            ? keyed(item.of[0].of, inline)
            : keyed(item.of, block)}
        </li>
      ))
      return node.ordered ? <ol start={node.start}>{items}</ol> : <ul>{items}</ul>
    }
  }
}

/** Renders Markdown from agents and users as React elements: no HTML, no images, no unsafe links. */
export const Markdown = memo(function Markdown({ text, className = '' }: { text: string; className?: string }) {
  const tree = useMemo(() => readMarkdown(text), [text])
  return (
    <div className={`prose-safe wrap-anywhere min-w-0 ${className}`} dir="auto">
      {keyed(tree, block)}
    </div>
  )
})
