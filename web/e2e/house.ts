import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

export interface House {
  base: string
  email: string
  password: string
  folder: string
  /** Ends the service and keeps its data. */
  stop: () => Promise<void>
  close: () => Promise<void>
}

/**
 * Starts the real binary with its demo, on a port of its own and in a folder of its own; or again where it was.
 * Its agents do only what they are told to, unless it is to be `live`.
 */
export async function openHouse(again?: House, live = false): Promise<House> {
  const binary = process.env.WARDROOM_BINARY ?? '../bin/wardroom'
  const folder = again?.folder ?? (await mkdtemp(join(tmpdir(), 'wardroom-e2e-')))
  const child: ChildProcess = spawn(
    binary,
    ['demo', '--dir', folder, '--port', again ? new URL(again.base).port : '0', ...(live ? [] : ['--still'])],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: folder },
    },
  )
  const stop = async () => {
    if (child.exitCode === null) {
      const ended = new Promise(done => child.once('exit', done))
      child.kill('SIGTERM')
      await ended
    }
  }
  const close = async () => {
    await stop()
    await rm(folder, { recursive: true, force: true })
  }
  let said = ''
  const told = new Promise<House>((resolve, reject) => {
    const read = (piece: Buffer) => {
      said += piece.toString()
      const base = /Look at\s+(http:\S+)/.exec(said)?.[1]
      const email = /Sign in as\s+(\S+)/.exec(said)?.[1]
      const password = /Password\s+(\S+)/.exec(said)?.[1]
      if (base && email && password) resolve({ base, email, password, folder, stop, close })
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`the demo ended with ${code}:\n${said}`)))
    setTimeout(() => reject(new Error(`the demo says nothing:\n${said}`)), 30_000).unref()
  })
  return told.catch(async err => {
    await close()
    throw err
  })
}

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })

export interface Look {
  theme: 'light' | 'dark'
  width: number
  height: number
}

export const looks: Record<string, Look> = {
  'light desktop': { theme: 'light', width: 1440, height: 900 },
  'dark desktop': { theme: 'dark', width: 1440, height: 900 },
  'light phone': { theme: 'light', width: 360, height: 740 },
  'dark phone': { theme: 'dark', width: 360, height: 740 },
}

/** The looks in which every place is looked through; `faults` looks at the colours of the other theme as well. */
export const sizes: [string, Look][] = ['light desktop', 'dark phone'].map(name => [name, looks[name] as Look])

export interface Watched {
  context: BrowserContext
  page: Page
  /** What went wrong unseen: messages of the console, reports of the policy, requests elsewhere. */
  complaints: string[]
}

/** A page on which nothing may go wrong unseen. */
export async function openPage(browser: Browser, base: string, look: Look): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: base,
    colorScheme: look.theme,
    viewport: { width: look.width, height: look.height },
    hasTouch: look.width < 600,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  })
  const complaints: string[] = []
  await context.exposeBinding('__violated', (_, what: string) => complaints.push(`policy: ${what}`))
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', e => {
      const tell = (globalThis as unknown as { __violated: (what: string) => void }).__violated
      tell(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile ?? ''}:${e.lineNumber} ${e.sample}`)
    })
  })
  context.setDefaultTimeout(20_000)
  const page = await context.newPage()
  page.on('console', m => complaints.push(`console: ${m.type()} ${m.text()}`))
  page.on('pageerror', e => complaints.push(`error: ${e.message}`))
  page.on('request', r => {
    if (!r.url().startsWith(base) && !r.url().startsWith('blob:')) complaints.push(`request elsewhere: ${r.url()}`)
  })
  return { context, page, complaints }
}

export async function signIn(page: Page, house: House): Promise<void> {
  await page.getByLabel('Email').fill(house.email)
  await page.getByLabel('Password', { exact: true }).fill(house.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  // What lies behind a dialog that is open from the start is hidden from assistive technology.
  await page
    .getByRole('navigation', { name: 'Places', includeHidden: true })
    .filter({ visible: true })
    .first()
    .waitFor()
}

/** What axe finds on the page, in a line each; nothing is what we want. A theme is nothing but colours. */
export async function faults(page: Page): Promise<string[]> {
  const dark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
  const found = await violations(page, axe => axe.withTags(tags))
  await page.emulateMedia({ colorScheme: dark ? 'light' : 'dark' })
  found.push(...(await violations(page, axe => axe.withRules('color-contrast'))))
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
  return found
}

/** No page of ours has frames, for which axe would open a second page each time. */
async function violations(page: Page, which: (axe: AxeBuilder) => AxeBuilder): Promise<string[]> {
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] })
  const { violations } = await which(axe).analyze()
  return violations.flatMap(v => v.nodes.map(n => `${v.id}: ${n.target.join(' ')} ${n.failureSummary ?? ''}`))
}

/** Whether nothing of a table has to be swiped to be seen, also on the narrowest screen; its rows are cards there. */
export async function isWhole(page: Page, table: string): Promise<boolean> {
  const size = page.viewportSize()
  await page.setViewportSize({ width: 320, height: 640 })
  const rows = page.getByRole('table', { name: table, exact: true }).locator('[role=row][data-row]')
  await rows.first().waitFor()
  const whole = await rows.evaluateAll(list =>
    list.every(row => {
      const scroller = row.closest('[role=table]')?.parentElement
      return (
        scroller !== null &&
        scroller !== undefined &&
        scroller.scrollWidth <= scroller.clientWidth &&
        [...row.querySelectorAll('[role=cell]')].every(c => c.getBoundingClientRect().right <= innerWidth)
      )
    }),
  )
  if (size) await page.setViewportSize(size)
  return whole
}

/** Asks the API directly, as somebody else would. */
export async function call(house: House, method: string, path: string, body?: unknown): Promise<unknown> {
  const login = await fetch(`${house.base}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: house.email, password: house.password }),
  })
  const { token } = (await login.json()) as { token: string }
  const answer = await fetch(`${house.base}/api/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.status === 204 ? null : answer.json()
}
