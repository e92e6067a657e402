import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { type Account, browserZone, type Running, run } from './binary.ts'

/** A running demo and its owner. */
export interface Demo extends Account, Omit<Running<unknown>, 'said'> {
  /** The link that signs the owner in, once. */
  link: string
}

interface Start {
  /** An earlier demo to restart, on its port. */
  again?: Demo
  /** Agents also work on their own, and not only on request. */
  live?: boolean
  /** Starts with an empty folder instead of a copy of the filled one. */
  fresh?: boolean
  /** How long agents think and work, in seconds. */
  pace?: number
  work?: number
}

/**
 * Starts a demo on its own port and in its own folder. For tests, it is in another zone than the browser; in pictures, in
 * the same, as on a user's machine.
 */
export async function startDemo({ again, live, fresh, pace = 2.5, work = 4 }: Start = {}): Promise<Demo> {
  const port = again ? new URL(again.base).port : '0'
  const times = ['--pace', `${pace}s`, '--work', `${work}s`, ...(live ? [] : ['--still'])]
  const { said, ...running } = await run(
    folder => ['demo', '--dir', folder, '--port', port, ...times],
    words => {
      const link = /Open\s+(http:\S+)/.exec(words)?.[1]
      const email = /Sign in as\s+(\S+)/.exec(words)?.[1]
      const password = /Password\s+(\S+)/.exec(words)?.[1]
      return link && email && password ? { base: new URL(link).origin, link, email, password } : undefined
    },
    { TIMEZONE: process.env.PICTURES ? browserZone : 'UTC' },
    again?.folder ?? (fresh ? undefined : await copyFilled()),
  )
  return { ...said, ...running }
}

async function copyFilled(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'wardroom-e2e-'))
  await cp(inject('filled'), folder, { recursive: true })
  return folder
}

/** Returns a token for an account. */
export async function tokenOf(as: Account): Promise<string> {
  const login = await fetch(`${as.base}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: as.email, password: as.password }),
  })
  if (!login.ok) throw new Error(`${as.email} is not let in: ${login.status} ${await login.text()}`)
  return ((await login.json()) as { token: string }).token
}

/** The tokens of `call`, because each sign-in costs the service the time of a password hash. */
const tokens = new Map<string, Promise<string>>()

/** Calls the API directly, like another client. It signs in once, and again when its token is refused. */
export async function call(as: Account, method: string, path: string, body?: unknown): Promise<unknown> {
  const who = `${as.base} ${as.email} ${as.password}`
  const ask = async () => {
    const token = tokens.get(who) ?? tokenOf(as)
    tokens.set(who, token)
    return fetch(`${as.base}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${await token}`, 'Content-Type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
  }
  let answer = await ask()
  if (answer.status === 401) {
    tokens.delete(who)
    answer = await ask()
  }
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.status === 204 ? null : answer.json()
}
