// Runs `wardroom serve`.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Account, type Running, run } from './binary.ts'
import { call, type Demo } from './demo.ts'

/** A running server, and its owner if it has one. */
export interface Service extends Account, Omit<Running<unknown>, 'said'> {
  /** The setup link; empty if there is an owner. */
  link: string
}

const owner = { email: 'ada@example.com', password: 'four random words are good' }

/** Starts a server with additional settings, or restarts an earlier one. */
export async function openService(settings: Record<string, string> = {}, again?: Service): Promise<Service> {
  const owned = again !== undefined || settings.BOOTSTRAP_OWNER_EMAIL !== undefined
  const { said, ...running } = await run(
    () => ['serve'],
    words => {
      const at = /address=(http:\/\/[^\s"]+)|"address":"(http:[^"]+)"/.exec(words)
      const base = at?.[1] ?? at?.[2]
      const link = /(http:\/\/\S+\/setup#\S+)/.exec(words)?.[1] ?? ''
      // The setup link is printed before or after the address; with an owner there is none.
      return base && (link || owned) ? { base, link } : undefined
    },
    {
      HOST: '127.0.0.1',
      PORT: again ? new URL(again.base).port : '0',
      JWT_SECRET: 'a secret for the tests of the browser, long enough',
      ...settings,
    },
    again?.folder,
  )
  return { ...said, ...owner, ...running }
}

/** Starts a server that has an owner. */
export const openOwned = (settings: Record<string, string> = {}, again?: Service): Promise<Service> =>
  openService({ BOOTSTRAP_OWNER_EMAIL: owner.email, BOOTSTRAP_OWNER_PASSWORD: owner.password, ...settings }, again)

/** Returns the address and token of a demo's gateway, to connect another server. */
export async function gatewayOf(demo: Demo): Promise<{ url: string; token: string }> {
  const { url } = (await call(demo, 'GET', '/agentrt/status')) as { url: string }
  const state = JSON.parse(await readFile(join(demo.folder, 'demo.json'), 'utf8')) as { gateway_token: string }
  return { url, token: state.gateway_token }
}
