// What most files of tests stand on: a demo of their own and a browser.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { entered, type Look, openBrowser, openPage, type Watched } from './browser.ts'
import { type House, openHouse, tokenOf } from './house.ts'
import type { Account } from './program.ts'

export let house: House
export let browser: Browser

interface Play {
  /** What is opened instead of a demo. */
  open?: () => Promise<House>
  /** What the tests need there before they begin. */
  prepare?: () => Promise<void>
  /** How long all of it may take, in ms. */
  timeout?: number
}

/**
 * Opens both before the tests of a file, and closes them afterwards. What is tried once more has a demo of its own:
 * where the first try left the other, it could not pass.
 */
export function onStage({ open = openHouse, prepare, timeout }: Play = {}): void {
  beforeAll(async () => {
    house = await open()
    browser = await openBrowser()
    await prepare?.()
  }, timeout)
  beforeEach(async ({ task }) => {
    if (!task.result?.retryCount) return
    await Promise.all(browser.contexts().map(context => context.close()))
    await house.close()
    house = await open()
    await prepare?.()
  }, timeout)
  afterAll(async () => {
    await browser?.close()
    await house?.close()
  })
}

/** Starts the demo again, where it was before `house.stop()`. */
export async function reopenHouse(): Promise<void> {
  house = await openHouse(house)
}

const tokens = new Map<string, Promise<string>>()

/**
 * A page at a path, before somebody who is signed in: the demo's owner, unless it is another. How one signs in is the
 * subject of a file of its own; here the token lies where the dashboard keeps it.
 */
export async function opened(look: Look, path: string, as: Account = house): Promise<Watched> {
  const who = `${as.base} ${as.email} ${as.password}`
  const token = tokens.get(who) ?? tokenOf(as)
  tokens.set(who, token)
  const watched = await openPage(browser, as.base, look)
  const { page } = watched
  await page.route('**/empty', route =>
    route.fulfill({ contentType: 'text/html', body: '<link rel=icon href=data:,>' }),
  )
  await page.goto('/empty')
  await page.evaluate(token => localStorage.setItem('wardroom.token', token), await token)
  await page.unroute('**/empty')
  await page.goto(path)
  await entered(page)
  return watched
}
