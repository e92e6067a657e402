import { describe, expect, it } from 'vitest'
import { axeFaultsPassing } from './axe.ts'
import { desktop, openPage, signIn } from './browser.ts'
import { call } from './demo.ts'
import { browser, demo, opened, restartDemo, setUp } from './fixture.ts'
import { openProxy } from './proxy.ts'
import { gatewayOf, openOwned } from './service.ts'

setUp()

// The page must not show "Live" while disconnected.
describe('a line that breaks', () => {
  it('is told, what was known stays, and what was missed is there afterwards', async () => {
    const { context, page } = await opened(desktop, '/tasks?view=board')
    const mark = page.getByRole('banner')
    await mark.getByText('Live', { exact: true }).waitFor()
    // Each column loads by itself.
    for (const column of ['Backlog', 'To do', 'In progress', 'Review', 'Done']) {
      await page.getByRole('region', { name: column }).locator('article').first().waitFor()
    }
    const known = await page.locator('article').count()

    await demo.stop()
    await mark.getByText(/Stale|Offline/).waitFor()
    await expect.poll(() => page.locator('article').count()).toBe(known)
    await restartDemo()
    await call(demo, 'PATCH', '/tasks/TASK-14', { status: 'review' })
    await mark.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Review' }).getByText('Monthly cost report').waitFor()
    await context.close()
  })
})

/** Opens a page in data saver mode, which doesn't preload other pages. */
async function sparing() {
  const watched = await openPage(browser, demo.base, desktop)
  await watched.context.addInitScript(() =>
    Object.defineProperty(navigator, 'connection', { value: { saveData: true } }),
  )
  return watched
}

// After sleep, the page must catch up without gaps or duplicates.
describe('a line that sleeps', () => {
  it('goes on where it stopped: nothing is lost and nothing is there twice', async () => {
    const proxy = await openProxy(demo.base)
    const { context, page } = await openPage(browser, proxy.url, desktop)
    await page.goto('/tasks?view=board')
    await signIn(page, demo)
    const mark = page.getByRole('banner')
    await mark.getByText('Live', { exact: true }).waitFor()
    // Causes an event, whose ID the stream resumes from.
    await call(demo, 'PATCH', '/tasks/TASK-3', { priority: 'urgent' })
    await page.waitForTimeout(500)
    await proxy.cut()
    await mark.getByText(/Stale|Offline/).waitFor()
    for (const title of ['Made in the night, one', 'Made in the night, two']) {
      const made = (await call(demo, 'POST', '/tasks', { title })) as { key: string }
      await call(demo, 'PATCH', `/tasks/${made.key}`, { status: 'in_progress' })
    }
    await call(demo, 'PATCH', '/tasks/TASK-14', { status: 'review' })
    await proxy.restore()
    await mark.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Review' }).locator('[data-task="TASK-14"]').first().waitFor()
    await page.getByRole('button', { name: /^Show \d+ new items?$/ }).click()
    for (const title of ['Made in the night, one', 'Made in the night, two']) {
      const cards = page.getByRole('region', { name: 'In progress' }).getByText(title)
      await cards.first().waitFor()
      expect(await cards.count(), title).toBe(1)
    }
    expect(proxy.sent.some(request => /^last-event-id: \d+/im.test(request))).toBe(true)
    await context.close()
    await proxy.cut()
  })
})

// An outage must not take down the whole dashboard.
describe('a place that was not opened before', () => {
  it('says that it could not be loaded, within the frame, and comes by itself with the service', async () => {
    const { context, page } = await sparing()
    await page.goto('/tasks?view=board')
    await signIn(page, demo)
    const mark = page.getByRole('banner')
    await mark.getByText('Live', { exact: true }).waitFor()
    await page.evaluate(() => Reflect.set(globalThis, 'sameDocument', true))
    await demo.stop()
    await mark.getByText(/Stale|Offline/).waitFor()
    const rail = page.getByRole('navigation', { name: 'Pages' }).first()
    await rail.getByRole('link', { name: 'Agents' }).click()
    await page.getByRole('alert').getByText('Couldn’t load this page').waitFor()
    await expect.poll(() => rail.getByRole('link').count()).toBe(9)
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.getByRole('button', { name: 'Try again' }).click()
    // Pages that were open before still work.
    await rail.getByRole('link', { name: 'Tasks' }).click()
    await page.locator('article').first().waitFor()
    await rail.getByRole('link', { name: 'Agents' }).click()
    await page.getByText('Couldn’t load this page').waitFor()
    await restartDemo()
    await page.getByRole('main').getByText('cto').first().waitFor()
    expect(await page.getByText('Couldn’t load this page').count()).toBe(0)
    expect(await page.evaluate(() => Reflect.get(globalThis, 'sameDocument'))).toBe(true)
    await context.close()
  })

  it('offers the new build when the server has it no more', async () => {
    const { context, page } = await sparing()
    let newer = false
    await page.route('**/', async route => {
      if (!newer || route.request().resourceType() !== 'fetch') return route.continue()
      const answer = await route.fetch()
      const body = (await answer.text()).replace(/\/assets\/index-[^"]+\.js/, '/assets/index-newer.js')
      return route.fulfill({ response: answer, body })
    })
    await page.route('**/assets/Page-*.js', route => (newer ? route.fulfill({ status: 404 }) : route.continue()))
    await page.goto('/tasks?view=board')
    await signIn(page, demo)
    await page.getByRole('banner').getByText('Live', { exact: true }).waitFor()
    newer = true
    // The new build arrives only with a reload; otherwise the page would recover by itself.
    page.on('request', r => {
      if (r.isNavigationRequest()) newer = false
    })
    await page.getByRole('link', { name: 'Spend', exact: true }).click()
    await page.getByText('Couldn’t load this page').waitFor()
    await page.getByText('A new version is available.').waitFor()
    await page.getByRole('alert').getByRole('button', { name: 'Reload page' }).click()
    await page.getByRole('main').getByText('Total').first().waitFor()
    await context.close()
  })

  it('is there all the same as a rule: it is fetched when there is nothing else to do', async () => {
    const { context, page } = await opened(desktop, '/tasks?view=board')
    await page.getByRole('banner').getByText('Live', { exact: true }).waitFor()
    const fetched = () =>
      page.evaluate(() => performance.getEntriesByType('resource').filter(r => /\/Audit-.*\.js/.test(r.name)).length)
    await expect.poll(fetched).toBeGreaterThan(0)
    await page.waitForTimeout(2_000)
    await demo.stop()
    await page.getByRole('link', { name: 'Settings', exact: true }).click()
    await page.getByRole('heading', { name: 'Settings' }).first().waitFor()
    expect(await page.getByText('Couldn’t load this page').count()).toBe(0)
    await restartDemo()
    await context.close()
  })
})

// The gateway usually goes offline while someone is looking. They must notice, and lose nothing.
describe('a gateway that goes away under an open dashboard', () => {
  it('is said within five seconds, nothing turns to zero, and all comes back by itself', async () => {
    const { url, token } = await gatewayOf(demo)
    // Spend something, in case the day just began.
    const work = (await call(demo, 'POST', '/tasks', { title: 'Spend something', assignee_id: 'cto' })) as {
      key: string
    }
    await call(demo, 'POST', `/tasks/${work.key}/dispatch`)
    const proxy = await openProxy(url)
    const service = await openOwned({ AGENTRT_GATEWAY_URL: proxy.url, AGENTRT_GATEWAY_TOKEN: token })
    try {
      const { context, page, complaints } = await opened(desktop, '/tasks', service)
      const bar = page.getByRole('banner')
      await bar.getByText('Live', { exact: true }).waitFor()
      const spent = bar.getByRole('link', { name: /today/ })
      await expect.poll(() => spent.textContent()).toMatch(/\$(0\.0*[1-9]|[1-9])/)
      const dollars = async () => Number(/\$([\d.]+)/.exec((await spent.textContent()) ?? '')?.[1])
      const before = await dollars()

      const cut = Date.now()
      await proxy.cut()
      const away = bar.getByText(/^Gateway (offline|connecting|slow)/)
      await away.waitFor({ timeout: 5_000 })
      console.log(`the gateway's absence was shown after ${Date.now() - cut} ms`)
      const aged = () => bar.textContent()
      const early = await aged()
      await expect.poll(aged).not.toBe(early)
      // Usage received before the cut may be counted after it.
      expect(await dollars()).toBeGreaterThanOrEqual(before)
      await proxy.restore()
      await bar.getByText('Live', { exact: true }).waitFor()
      expect(complaints.filter(c => !/50[234]/.test(c))).toEqual([])
      await context.close()
    } finally {
      await service.close()
      await proxy.cut()
    }
  })
})
