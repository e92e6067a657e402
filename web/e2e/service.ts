// The service as somebody has it who runs `wardroom serve`.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { call, type House } from './house.ts'
import { type Account, type Running, run } from './program.ts'

/** A service that runs, and who is its owner once it has one. */
export interface Service extends Account, Omit<Running<unknown>, 'said'> {
  /** The link that makes the owner; empty when there is one. */
  link: string
}

const owner = { email: 'ada@example.com', password: 'four random words are good' }

/** Starts the service with settings on top of the usual ones, or again where it was. */
export async function openService(settings: Record<string, string> = {}, again?: Service): Promise<Service> {
  const owned = again !== undefined || settings.BOOTSTRAP_OWNER_EMAIL !== undefined
  const { said, ...running } = await run(
    () => ['serve'],
    words => {
      const at = /address=(http:\/\/[^\s"]+)|"address":"(http:[^"]+)"/.exec(words)
      const base = at?.[1] ?? at?.[2]
      const link = /(http:\/\/\S+\/setup#\S+)/.exec(words)?.[1] ?? ''
      // The link is printed before it serves or after; who has an owner already gets none.
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

/** The same, with its owner. */
export const openOwned = (settings: Record<string, string> = {}, again?: Service): Promise<Service> =>
  openService({ BOOTSTRAP_OWNER_EMAIL: owner.email, BOOTSTRAP_OWNER_PASSWORD: owner.password, ...settings }, again)

/** The gateway of a demo, for another service: where it is, and its shared token. */
export async function gatewayOf(house: House): Promise<{ url: string; token: string }> {
  const { url } = (await call(house, 'GET', '/agentrt/status')) as { url: string }
  const state = JSON.parse(await readFile(join(house.folder, 'demo.json'), 'utf8')) as { gateway_token: string }
  return { url, token: state.gateway_token }
}
