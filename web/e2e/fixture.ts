// The fixture of most test files: a demo and a browser.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Account } from './binary.ts'
import { entered, type Look, openBrowser, openPage, type Watched } from './browser.ts'
import { type Demo, startDemo, tokenOf } from './demo.ts'

export let demo: Demo
export let browser: Browser

interface Play {
  /** Starts the server; a demo by default. */
  open?: () => Promise<Demo>
  /** Prepares data before the tests. */
  prepare?: () => Promise<void>
  /** Timeout of the whole setup, in ms. */
  timeout?: number
}

/**
 * Starts the server and the browser before the tests of a file, and stops them afterwards. A retry gets a new server,
 * because the first try may have changed the old one.
 */
export function setUp({ open = () => startDemo(), prepare, timeout }: Play = {}): void {
  beforeAll(async () => {
    demo = await open()
    browser = await openBrowser()
    await prepare?.()
  }, timeout)
  beforeEach(async ({ task }) => {
    if (!task.result?.retryCount) return
    await Promise.all(browser.contexts().map(context => context.close()))
    await demo.close()
    demo = await open()
    await prepare?.()
  }, timeout)
  afterAll(async () => {
    await browser?.close()
    await demo?.close()
  })
}

/** Restarts the demo after `demo.stop()`. */
export async function restartDemo(as: Parameters<typeof startDemo>[0] = {}): Promise<void> {
  demo = await startDemo({ ...as, again: demo })
}

const tokens = new Map<string, Promise<string>>()

/**
 * Opens a path while signed in, by default as the demo's owner. Skips the sign-in form by storing a token; login.e2e.ts
 * tests the form.
 */
export async function opened(look: Look, path: string, as: Account = demo): Promise<Watched> {
  const who = `${as.base} ${as.email} ${as.password}`
  const token = tokens.get(who) ?? tokenOf(as)
  tokens.set(who, token)
  const watched = await openPage(browser, as.base, look)
  const { page } = watched
  // Signing out ends the token, so later tests need another one.
  page.on('request', r => r.method() === 'DELETE' && r.url().includes('/auth/me/sessions') && tokens.delete(who))
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
