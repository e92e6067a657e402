import { Fragment, type ReactNode } from 'react'
import { texts } from '../texts'
import { Icon } from './Icon'

const mask = /(\[masked:[a-z_]+\])/

/**
 * Highlights the places where the server redacted a secret, so that the placeholder isn't mistaken for the agent's
 * text.
 */
export function masked(text: string): ReactNode {
  if (!text.includes('[masked:')) return text
  return text.split(mask).map((part, i) => {
    const kind = i % 2 === 1 ? part.slice('[masked:'.length, -1) : null
    return kind === null ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text, rendered as a whole
      <Fragment key={i}>{part}</Fragment>
    ) : (
      <span
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        key={i}
        className="mx-0.5 whitespace-nowrap rounded-sm bg-attention-tint px-1 text-attention"
        title={texts.ui.maskedHelp}
      >
        <Icon className="mr-0.5 inline size-3 align-text-bottom" name="blocked" />
        {texts.ui.masked(kind)}
      </span>
    )
  })
}
