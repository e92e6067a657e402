import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { type Account, type Running, run } from './binary.ts'

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
}

/** Starts a demo on its own port and in its own folder. */
export async function startDemo({ again, live = false, fresh = false }: Start = {}): Promise<Demo> {
  const port = again ? new URL(again.base).port : '0'
  const { said, ...running } = await run(
    folder => ['demo', '--dir', folder, '--port', port, '--work', '4s', ...(live ? [] : ['--still'])],
    words => {
      const link = /Open\s+(http:\S+)/.exec(words)?.[1]
      const email = /Sign in as\s+(\S+)/.exec(words)?.[1]
      const password = /Password\s+(\S+)/.exec(words)?.[1]
      return link && email && password ? { base: new URL(link).origin, link, email, password } : undefined
    },
    {},
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

/** Calls the API directly, like another client. */
export async function call(as: Account, method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(`${as.base}/api/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${await tokenOf(as)}`, 'Content-Type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.status === 204 ? null : answer.json()
}
