import { useState } from 'react'
import { session } from '../app/session'

// What somebody has begun to write and not sent, for as long as the tab is open:
// a closed panel, another task or another place must not take it away.
const drafts = new Map<string, string>()

/** Whose a token is, to tell one person from the next and for nothing else; null when it cannot be read. */
export function ownerOf(token: string | null): string | null {
  try {
    const claims = (token ?? '').split('.')[1] ?? ''
    const { sub } = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))) as { sub?: unknown }
    return typeof sub === 'string' ? sub : null
  } catch {
    return null
  }
}

// Nobody else on this machine is to read it. Whose token ended while they wrote finds it again.
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

/** What was begun for a thing; empty when nothing was. */
export const draftOf = (what: string, id: string): string => drafts.get(nameOf(what, id)) ?? ''

/** Keeps what is being written for a thing. Nothing is kept of what is empty. */
export function keepDraft(what: string, id: string, text: string): void {
  if (text) drafts.set(nameOf(what, id), text)
  else drafts.delete(nameOf(what, id))
  if (drafts.size > 0) addEventListener('beforeunload', ask)
  else removeEventListener('beforeunload', ask)
}

/** Has the browser ask before the tab goes: what is not sent is kept nowhere else. */
const ask = (e: Event): void => {
  if (drafts.size > 0) e.preventDefault()
}

export const dropDraft = (what: string, id: string): void => keepDraft(what, id, '')

/** A text of a field that is kept until it is sent: it is there again when the field is. */
export function useDraft(what: string, id: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => draftOf(what, id))
  return [
    text,
    next => {
      setText(next)
      keepDraft(what, id, next)
    },
  ]
}
