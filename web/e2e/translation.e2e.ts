import { describe, expect, it } from 'vitest'
import { desktop, openPage, signIn } from './browser.ts'
import { call } from './demo.ts'
import { browser, demo, setUp } from './fixture.ts'

setUp()

/**
 * Translates the page and everything that it shows later, as browsers do: `wraps` puts each text into two `font`
 * elements, else these take its place with another text.
 */
function translate(wraps: boolean): void {
  const one = (text: Text) => {
    const parent = text.parentElement
    if (!text.data.trim() || !parent || /^(FONT|SCRIPT|STYLE|TEXTAREA|TITLE|OPTION|NOSCRIPT)$/.test(parent.nodeName))
      return
    const [outer, inner] = [document.createElement('font'), document.createElement('font')]
    outer.append(inner)
    text.replaceWith(outer)
    if (wraps) inner.append(text)
    else inner.textContent = `«${text.data}»`
  }
  const all = (root: Node) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
    const found: Text[] = []
    while (walker.nextNode()) found.push(walker.currentNode as Text)
    if (root instanceof Text) found.push(root)
    for (const text of found) if (text.isConnected) one(text)
  }
  const start = () => {
    all(document.body)
    new MutationObserver(records => {
      for (const r of records) for (const node of r.addedNodes) if (node.isConnected) all(node)
    }).observe(document.body, { childList: true, subtree: true })
  }
  if (document.body) start()
  else addEventListener('DOMContentLoaded', start)
}

const places = ['Inbox', 'Tasks', 'Agents', 'Sessions', 'Standups', 'Schedules', 'Spend', 'Settings', 'Now']

// Translators change the page under React, which took every change that followed for an error of the whole dashboard.
describe.each([
  ['puts texts into elements', true],
  ['puts elements in place of texts', false],
])('a translator that %s', (_, wraps) => {
  it('does no harm on any page while it changes', async () => {
    const { context, page, complaints } = await openPage(browser, demo.base, desktop)
    await context.addInitScript(translate, wraps)
    await page.goto('/login')
    await page.locator('input[name=email]').fill(demo.email)
    await page.locator('input[name=password]').fill(demo.password)
    await page.locator('button[type=submit]').click()
    await page.locator('#content').waitFor()
    const { key } = (await call(demo, 'POST', '/tasks', { title: 'Translated', assignee_id: 'cto' })) as { key: string }
    let n = 0
    const change = async () => {
      n++
      await call(demo, 'PATCH', `/tasks/${key}`, {
        title: `Translated ${n} times`,
        priority: ['low', 'high', 'urgent'][n % 3],
        status: ['todo', 'in_progress', 'review'][n % 3],
        tags: n % 2 ? ['one', 'two'] : [],
      })
      await page.waitForTimeout(400)
    }
    for (const place of places) {
      await page
        .locator(`nav a[href="/${place === 'Now' ? '' : place.toLowerCase()}"]`)
        .first()
        .click()
      for (let i = 0; i < 3; i++) await change()
      expect(await page.locator('nav a').count(), place).toBeGreaterThan(8)
    }
    await page.goto(`/tasks?view=board&task=${key}`)
    for (let i = 0; i < 4; i++) await change()
    // What is shown is true now, and not what was translated once.
    await page.locator('aside').getByText(`Translated ${n} times`).first().waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('Translated')
    await page.waitForTimeout(1_000)
    await page.keyboard.press('Escape')
    expect(complaints).toEqual([])
    expect(await page.getByRole('alert').count()).toBe(0)
    await context.close()
  })
})

// A card that can't be shown must not take the page.
describe('a card that cannot be shown', () => {
  it('says so in its place, and is shown again on request', async () => {
    const { context, page } = await openPage(browser, demo.base, desktop)
    let broken = true
    await page.route('**/api/v1/agentrt/slots?*', route =>
      broken ? route.fulfill({ json: [null] }) : route.continue(),
    )
    await page.goto('/')
    await signIn(page, demo)
    const failed = page.getByRole('alert').filter({ hasText: 'Couldn’t show this part.' })
    await failed.first().waitFor()
    expect(await failed.count()).toBe(1)
    expect(await page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link').count()).toBe(9)
    await page.getByRole('heading', { name: 'Spend' }).first().waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await failed.waitFor()
    broken = false
    await page.reload()
    await page.getByRole('heading', { name: 'Spend' }).first().waitFor()
    expect(await failed.count()).toBe(0)
    await context.close()
  })
})
