import { type Account, type Running, run } from './binary.ts'

/** A running demo and its owner. */
export type Demo = Account & Omit<Running<unknown>, 'said'>

/**
 * Starts a demo on its own port and in its own folder, or restarts an earlier one. Its agents work only on request,
 * unless `live` is set.
 */
export async function startDemo(again?: Demo, live = false): Promise<Demo> {
  const port = again ? new URL(again.base).port : '0'
  const { said, ...running } = await run(
    folder => ['demo', '--dir', folder, '--port', port, ...(live ? [] : ['--still'])],
    words => {
      const base = /Open\s+(http:\S+)/.exec(words)?.[1]
      const email = /Sign in as\s+(\S+)/.exec(words)?.[1]
      const password = /Password\s+(\S+)/.exec(words)?.[1]
      return base && email && password ? { base, email, password } : undefined
    },
    {},
    again?.folder,
  )
  return { ...said, ...running }
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
