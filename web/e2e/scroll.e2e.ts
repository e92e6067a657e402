import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { type Look, phone } from './browser.ts'
import { opened, setUp } from './fixture.ts'

setUp()

describe('where a list is scrolled to', () => {
  const scroller = (page: Page, of: string) => page.locator(of).first()
  const top = (page: Page, of: string) => scroller(page, of).evaluate(e => e.scrollTop)

  it.each([
    ['/sessions?show=live', 'main div:has(> [role=list])'],
    ['/sessions?show=history', 'main div:has(> [role=list])'],
    ['/tasks?view=table', 'main div:has(> [role=table])'],
  ])('%s is kept on the way back and over a reload', async (path, of) => {
    const low: Look = { theme: 'light', width: 1440, height: 320 }
    const { context, page, complaints } = await opened(low, path)
    await page.locator(`${of} :is([role=row], [role=listitem])`).nth(5).waitFor()
    // The demo's history loads piece by piece.
    const scroll = () =>
      scroller(page, of).evaluate(e => {
        e.scrollTop = Math.min(900, e.scrollHeight - e.clientHeight - 50)
        return e.scrollTop
      })
    await expect.poll(scroll).toBeGreaterThan(50)
    const far = await scroll()
    await page.waitForTimeout(400)
    // With a title: links to what started a session can lead to one that does not exist yet.
    const link = page.locator(`${of} [role=listitem] a[title][href*="/sessions/"]`)
    if ((await link.count()) > 0) {
      // A mouse click would first scroll to the row, so the event is dispatched directly.
      await link.last().dispatchEvent('click')
      await page.waitForURL('**/sessions/**')
      await page.locator('main h2').first().waitFor()
    } else {
      await page.getByRole('link', { name: 'Agents', exact: true }).click()
      await page.waitForURL('**/agents')
    }
    await page.goBack()
    await expect.poll(() => top(page, of)).toBe(far)
    await page.waitForTimeout(500)
    expect(await top(page, of)).toBe(far)
    await page.reload()
    await page.locator(`${of} :is([role=row], [role=listitem])`).nth(5).waitFor()
    await expect.poll(() => top(page, of)).toBe(far)
    if (!path.startsWith('/sessions')) {
      await context.close()
      return
    }
    // Opening the page anew starts at the top.
    await page.getByRole('link', { name: 'Agents', exact: true }).click()
    await page.waitForURL('**/agents')
    await page.getByRole('link', { name: 'Sessions', exact: true }).click()
    await page.locator(`${of} :is([role=row], [role=listitem])`).nth(2).waitFor()
    expect(await top(page, of)).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })

  it.each(['/agents/cto', '/spend'])('is the place of %s alone: the frame stays on a phone', async path => {
    const { context, page, complaints } = await opened(phone, path)
    await page.locator('main table').first().waitFor({ state: 'attached' })
    expect(await page.evaluate(() => document.documentElement.scrollHeight - window.innerHeight)).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is kept of a standup over a reload, and nothing of it is stored', async () => {
    const { context, page } = await opened({ theme: 'light', width: 1440, height: 500 }, '/standups')
    const of = '.standup-scroller'
    await page.locator(`${of} article, ${of} section`).first().waitFor()
    await page.waitForTimeout(500)
    const far = await scroller(page, of).evaluate(e => {
      e.scrollTop = 300
      return e.scrollTop
    })
    expect(far).toBeGreaterThan(100)
    await page.waitForTimeout(400)
    await page.reload()
    await expect.poll(() => top(page, of).catch(() => -1)).toBe(far)
    expect(await page.evaluate(() => [Object.keys(localStorage), Object.keys(sessionStorage)])).toEqual([
      ['wardroom.token'],
      [],
    ])
    await context.close()
  })
})
