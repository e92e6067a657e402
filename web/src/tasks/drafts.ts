import { useState } from 'react'
import { session } from '../app/session'

// Unsent texts, kept in memory while the tab is open.
const drafts = new Map<string, string>()

/** Returns the user of a token, to tell users apart; null if it can't be decoded. */
export function ownerOf(token: string | null): string | null {
  try {
    const claims = (token ?? '').split('.')[1] ?? ''
    const { sub } = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))) as { sub?: unknown }
    return typeof sub === 'string' ? sub : null
  } catch {
    return null
  }
}

// Drafts are cleared for the next user, but kept when the same user signs in again.
let owner = ownerOf(session.token())
session.onLeave(() => {
  if (session.ended() === 'signed_out') drafts.clear()
})
session.subscribe(() => {
  if (session.token() === null) return
  const next = ownerOf(session.token())
  if (next === null || next !== owner) drafts.clear()
  owner = next
})

const nameOf = (what: string, id: string) => `${what} ${id}`

/** Returns the draft of an item, or an empty string. */
export const draftOf = (what: string, id: string): string => drafts.get(nameOf(what, id)) ?? ''

/** Stores a draft; an empty text removes it. */
export function keepDraft(what: string, id: string, text: string): void {
  if (text) drafts.set(nameOf(what, id), text)
  else drafts.delete(nameOf(what, id))
  if (drafts.size > 0) addEventListener('beforeunload', ask)
  else removeEventListener('beforeunload', ask)
}

/** Asks before the tab closes while there are drafts. */
const ask = (e: Event): void => {
  if (drafts.size > 0) e.preventDefault()
}

export const dropDraft = (what: string, id: string): void => keepDraft(what, id, '')

/** The state of a text field that is kept as a draft until it is sent. Without a draft, it begins as `proposed`. */
export function useDraft(what: string, id: string, proposed = ''): [string, (text: string) => void] {
  const [text, setText] = useState(() => draftOf(what, id) || proposed)
  return [
    text,
    next => {
      setText(next)
      keepDraft(what, id, next)
    },
  ]
}
