// Opens a real browser and signs in.
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { type Account, browserZone } from './binary.ts'

/** Debian's headless shell, which is a third faster than the full browser. */
const installed = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync)

export const openBrowser = (...args: string[]): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? installed ?? 'chromium',
    args: [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), ...args],
  })

export interface Look {
  theme: 'light' | 'dark'
  width: number
  height: number
}

export const looks = {
  'light desktop': { theme: 'light', width: 1440, height: 900 },
  'dark desktop': { theme: 'dark', width: 1440, height: 900 },
  'light phone': { theme: 'light', width: 360, height: 740 },
  'dark phone': { theme: 'dark', width: 360, height: 740 },
} satisfies Record<string, Look>

export const desktop: Look = looks['light desktop']
export const phone: Look = looks['dark phone']

/** Whether only the tests with the tag `smoke` run, on a single look. */
export const short = Boolean(process.env.SHORT)

/** The looks in which each page's own test checks it. */
export const sizes: [string, Look][] = [
  ['light desktop', desktop],
  ...(short ? [] : [['dark phone', phone] as [string, Look]]),
]

export interface Watched {
  context: BrowserContext
  page: Page
  /** Console messages, policy violations, and requests to other hosts. */
  complaints: string[]
}

/** Opens a page that records everything that goes wrong. */
export async function openPage(browser: Browser, base: string, look: Look): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: base,
    colorScheme: look.theme,
    viewport: { width: look.width, height: look.height },
    hasTouch: look.width < 600,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: browserZone,
  })
  const complaints: string[] = []
  await context.exposeBinding('__violated', (_, what: string) => complaints.push(`policy: ${what}`))
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', e => {
      const tell = (globalThis as unknown as { __violated: (what: string) => void }).__violated
      tell(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile ?? ''}:${e.lineNumber} ${e.sample}`)
    })
  })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  page.on('console', m => complaints.push(`console: ${m.type()} ${m.text()} ${pathOf(m.location().url)}`.trim()))
  page.on('pageerror', e => complaints.push(`error: ${e.message}`))
  page.on('request', r => {
    if (!r.url().startsWith(base) && !r.url().startsWith('blob:')) complaints.push(`request elsewhere: ${r.url()}`)
  })
  return { context, page, complaints }
}

/** Returns the path of a URL without IDs, whose digits could look like a status. */
const pathOf = (url: string) => URL.parse(url)?.pathname.replace(/[0-9a-f-]{20,}/g, '{id}') ?? ''

export async function signIn(page: Page, as: Pick<Account, 'email' | 'password'>): Promise<void> {
  await page.getByLabel('Email').fill(as.email)
  await page.getByLabel('Password', { exact: true }).fill(as.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await entered(page)
}

/** Waits for the layout, which only signed-in users see. */
export async function entered(page: Page): Promise<void> {
  // A dialog that is open from the start hides the layout from the accessibility tree.
  await page.getByRole('navigation', { name: 'Pages', includeHidden: true }).filter({ visible: true }).first().waitFor()
}

/** Returns whether a table fits the narrowest screen without scrolling; its rows are cards there. */
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
