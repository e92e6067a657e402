import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, type House, type Look, looks, openBrowser, openHouse, openPage, signIn } from './house.ts'

let house: House
let browser: Browser

beforeAll(async () => {
  house = await openHouse()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  await house?.close()
})

// A board that says "live" while the line is dead is worse than none.
describe('a line that breaks', () => {
  it('is told, what was known stays, and what was missed is there afterwards', async () => {
    const { context, page } = await openPage(browser, house.base, looks['light desktop'] as Look)
    await page.goto('/tasks?view=board')
    await signIn(page, house)
    const mark = page.getByRole('banner')
    await mark.getByText('Live', { exact: true }).waitFor()
    await page.locator('article').first().waitFor()
    const known = await page.locator('article').count()

    await house.stop()
    await mark.getByText(/Stale|Offline/).waitFor({ timeout: 40_000 })
    expect(await page.locator('article').count()).toBe(known)
    house = await openHouse(house)
    await call(house, 'PATCH', '/tasks/TASK-14', { status: 'review' })
    await mark.getByText('Live', { exact: true }).waitFor({ timeout: 40_000 })
    await page.getByRole('region', { name: 'Review' }).getByText('Monthly cost report').waitFor()
    await context.close()
  })
})
