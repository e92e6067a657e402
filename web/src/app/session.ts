import { tokenHeader } from '../api/tokenHeader'
import { base, storedName } from './base'

/** Why the user is no longer signed in. */
export type Ended = 'signed_out' | 'expired' | 'deactivated'

const name = storedName('wardroom.token')
let token: string | null = read()
let ended: Ended | null = null
const watchers = new Set<() => void>()
const leaving = new Set<() => void>()

function read(): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null // storage is blocked: the sign-in lasts as long as the tab
  }
}

function write(next: string | null, why: Ended | null): void {
  token = next
  ended = why
  try {
    if (next === null) localStorage.removeItem(name)
    else localStorage.setItem(name, next)
  } catch {
    // Storage is blocked, as above.
  }
  if (next === null) for (const leave of leaving) leave()
  for (const tell of watchers) tell()
}

if (typeof addEventListener === 'function') {
  // Signing in or out affects all tabs.
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

/** The sign-in of this tab. Only the token is stored. */
export const session = {
  token: (): string | null => token,
  ended: (): Ended | null => ended,
  signIn: (next: string): void => write(next, null),
  /** Signs out here at once, and asks the server to refuse the token from now on. */
  signOut: (): void => {
    const was = token
    write(null, 'signed_out')
    if (was === null) return
    const headers = { [tokenHeader]: was }
    // Offline, the token works until it expires; nothing here has it any longer.
    fetch(`${base}/api/v1/auth/me/sessions/current`, { method: 'DELETE', headers, keepalive: true }).catch(
      () => undefined,
    )
  },
  /** Ends the sign-in after the server rejected its token. A token that was already replaced is ignored. */
  refused: (which: string | null, code: string): void => {
    if (token !== null && which === token) write(null, code === 'account_deactivated' ? 'deactivated' : 'expired')
  },
  /** Registers a callback for when the user is signed out, to clear cached data. */
  onLeave: (f: () => void): (() => void) => {
    leaving.add(f)
    return () => leaving.delete(f)
  },
  subscribe: (f: () => void): (() => void) => {
    watchers.add(f)
    return () => watchers.delete(f)
  },
}
