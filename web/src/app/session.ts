import { useSyncExternalStore } from 'react'

/** Why somebody who was signed in is not any more. */
export type Ended = 'signed_out' | 'expired' | 'deactivated'

const name = 'wardroom.token'
let token: string | null = read()
let ended: Ended | null = null
const watchers = new Set<() => void>()
const leaving = new Set<() => void>()

function read(): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null // storage is forbidden: one is signed in for as long as the tab is open
  }
}

function write(next: string | null, why: Ended | null): void {
  token = next
  ended = why
  try {
    if (next === null) localStorage.removeItem(name)
    else localStorage.setItem(name, next)
  } catch {
    // As above.
  }
  if (next === null) for (const leave of leaving) leave()
  for (const tell of watchers) tell()
}

if (typeof addEventListener === 'function') {
  // Signing out, or in as somebody else, counts in every tab.
  addEventListener('storage', e => {
    if (e.key !== null && e.key !== name) return
    const next = read()
    if (next === token) return
    token = next
    ended = next === null ? 'signed_out' : null
    for (const leave of leaving) leave()
    for (const tell of watchers) tell()
  })
}

/** Who is signed in on this tab. The token is all that is kept of them. */
export const session = {
  token: (): string | null => token,
  ended: (): Ended | null => ended,
  signIn: (next: string): void => write(next, null),
  signOut: (): void => write(null, 'signed_out'),
  /** The service refused a token. One that was replaced meanwhile does not count. */
  refused: (which: string | null, code: string): void => {
    if (token !== null && which === token) write(null, code === 'account_deactivated' ? 'deactivated' : 'expired')
  },
  /** Calls back when the one who was signed in is not any more, to forget what they saw. */
  onLeave: (f: () => void): (() => void) => {
    leaving.add(f)
    return () => leaving.delete(f)
  },
  subscribe: (f: () => void): (() => void) => {
    watchers.add(f)
    return () => watchers.delete(f)
  },
}

/** The token, and a new render when it changes. */
export const useToken = (): string | null => useSyncExternalStore(session.subscribe, session.token)
