import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { desktop, entered, openBrowser, openPage, signIn } from './browser.ts'
import { call, tokenOf } from './demo.ts'
import { browser, demo, setUp } from './fixture.ts'
import { openWebProxy, type WebProxy } from './proxy.ts'

setUp()

/** A host name that is no secure context over plain HTTP, as in a local network: browsers offer less to such pages. */
const plainHost = 'wardroom.test'

const isLive = (page: Page) => page.getByRole('banner').getByText('Live', { exact: true }).waitFor()
const streams = (proxy: WebProxy) => [...proxy.open].filter(r => r.url?.startsWith('/api/v1/events')).length

/** Opens the board in several tabs of one browser. */
async function openTabs(n: number, at: string, own = browser) {
  const { context, page, complaints } = await openPage(own, at, desktop)
  await page.goto('/tasks?view=table')
  await signIn(page, demo)
  const tabs = [page]
  while (tabs.length < n) {
    const tab = await context.newPage()
    await tab.goto('/tasks?view=table')
    await entered(tab)
    tabs.push(tab)
  }
  for (const tab of tabs) await isLive(tab)
  return { context, tabs, complaints }
}

async function seenInAll(tabs: readonly Page[], title: string) {
  const { key } = (await call(demo, 'POST', '/tasks', { title: 'To be renamed' })) as { key: string }
  await call(demo, 'PATCH', `/tasks/${key}`, { title })
  for (const tab of tabs) {
    await tab.bringToFront()
    const more = tab.getByRole('button', { name: /^Show \d+ new items?$/ })
    const row = tab.getByText(title).first()
    await row.or(more).first().waitFor()
    if (await more.isVisible()) await more.click()
    await row.waitFor()
  }
}

// A browser opens six connections to a host over plain HTTP. With one stream per tab, the sixth tab hung for ever.
describe('many tabs', () => {
  it('share one stream over plain HTTP, and go on when the first is closed', async () => {
    const own = await openBrowser(`--host-resolver-rules=MAP ${plainHost} 127.0.0.1`)
    const proxy = await openWebProxy(demo.base)
    try {
      const { tabs, complaints } = await openTabs(9, proxy.url.replace('127.0.0.1', plainHost), own)
      expect(await tabs[0]?.evaluate(() => isSecureContext)).toBe(false)
      expect(streams(proxy)).toBe(1)
      await seenInAll(tabs, 'Seen in all tabs')
      await tabs.shift()?.close()
      await seenInAll(tabs, 'Seen without the first tab')
      expect(streams(proxy)).toBe(1)
      // Such a page gets no isolation from pages that open it, which the browser says for each.
      expect(complaints.filter(c => !c.includes('Cross-Origin-Opener-Policy'))).toEqual([])
      for (const tab of tabs) await tab.close()
      await expect.poll(() => streams(proxy)).toBe(0)
    } finally {
      await own.close()
      await proxy.close()
    }
  })

  it('follow the user: signing out ends all, and the next user has a stream of their own', async () => {
    const proxy = await openWebProxy(demo.base)
    const { context, tabs } = await openTabs(3, proxy.url)
    const [one, two] = tabs as [Page, Page]
    await call(demo, 'POST', '/users', {
      email: 'tabs@example.com',
      name: 'Tabs',
      password: 'four random words are good',
      role: 'user',
    })
    await one.evaluate(() => localStorage.removeItem('wardroom.token'))
    await one.reload()
    await one.getByLabel('Email').waitFor()
    await two.getByLabel('Email').waitFor()
    await expect.poll(() => streams(proxy)).toBe(0)
    await signIn(two, { email: 'tabs@example.com', password: 'four random words are good' })
    for (const tab of tabs) await isLive(tab)
    expect(streams(proxy)).toBe(1)
    const token = await tokenOf({ ...demo, email: 'tabs@example.com', password: 'four random words are good' })
    expect(token).toBeTruthy()
    await context.close()
    await proxy.close()
  })
})

// Some browsers have no shared worker. There, hidden tabs must leave the connections to the others.
describe('tabs without a shared worker', () => {
  it('give their stream up while they are hidden, and catch up when they are seen', async () => {
    const proxy = await openWebProxy(demo.base)
    const { context, page } = await openPage(browser, proxy.url, desktop)
    await context.addInitScript(() => {
      Reflect.deleteProperty(globalThis, 'SharedWorker')
      let hidden = false
      Object.defineProperty(document, 'hidden', { get: () => hidden })
      Reflect.set(globalThis, 'hide', (next: boolean) => {
        hidden = next
        document.dispatchEvent(new Event('visibilitychange'))
      })
    })
    const hide = (next: boolean) =>
      page.evaluate(next => (Reflect.get(globalThis, 'hide') as (next: boolean) => void)(next), next)
    await page.goto('/tasks?view=table')
    await signIn(page, demo)
    await isLive(page)
    expect(streams(proxy)).toBe(1)
    await hide(true)
    await expect.poll(() => streams(proxy)).toBe(0)
    const { key } = (await call(demo, 'GET', '/tasks?limit=1').then(rows => (rows as { key: string }[])[0])) as {
      key: string
    }
    await call(demo, 'PATCH', `/tasks/${key}`, { title: 'Renamed while nobody looked' })
    await hide(false)
    await isLive(page)
    await page.getByText('Renamed while nobody looked').first().waitFor()
    await context.close()
    await proxy.close()
  })
})

// A request without an answer must not look like a page that is merely empty.
describe('a request that is not answered', () => {
  it('is said after ten seconds, until it is', async () => {
    const proxy = await openWebProxy(demo.base)
    const { context, page } = await openPage(browser, proxy.url, desktop)
    await page.goto('/tasks?view=table')
    await signIn(page, demo)
    await isLive(page)
    proxy.answer = r => (r.url?.startsWith('/api/v1/agents') ? 'wait' : undefined)
    await page.getByRole('link', { name: 'Agents' }).first().click()
    const line = page.getByText('No answer for 10 seconds')
    await line.waitFor()
    proxy.answer = () => undefined
    await page.getByRole('button', { name: 'Reload page' }).click()
    await entered(page)
    await page.getByRole('main').getByText('cto').first().waitFor()
    expect(await line.count()).toBe(0)
    await context.close()
    await proxy.close()
  })
})
