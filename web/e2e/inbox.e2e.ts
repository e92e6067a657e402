import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsNightly } from './axe.ts'
import { desktop, looks, phone, sizes } from './browser.ts'
import { call } from './demo.ts'
import { choose } from './fields.ts'
import { demo, opened, setUp } from './fixture.ts'

const escalation = 'TASK-7 is stuck: The card on file at the certificate authority has expired'

setUp({
  prepare: async () => {
    // Only the escalation stays open.
    for (const item of await items('limit=100')) {
      if (item.title !== escalation) await call(demo, 'POST', `/inbox/${item.id}/resolve`, {})
    }
    // A team without agents. Each of its standups fails at once and raises an item.
    await call(demo, 'POST', '/teams', {
      key: 'ghosts',
      name: 'Ghosts',
      facilitator: 'ghost',
      participants: ['ghost-1'],
    })
  },
})

interface Item {
  id: string
  title: string
  state: string
  assignee: { id: string } | null
  resolution: { note: string } | null
}

const items = async (query: string) => (await call(demo, 'GET', `/inbox?${query}`)) as Item[]
const stateOf = async (title: string) =>
  (await items('state=open,acked,snoozed,resolved&limit=500')).find(i => i.title.startsWith(title))?.state

let days = 0
/** Fails a standup, which raises an inbox item. */
async function fail(title: string): Promise<Item> {
  days++
  const date = `2030-02-${String(days).padStart(2, '0')}`
  const standup = (await call(demo, 'POST', '/standups', { team: 'ghosts', date, title })) as { id: string }
  await call(demo, 'POST', `/standups/${standup.id}/run`, {})
  let found: Item | undefined
  await expect
    .poll(async () => {
      found = (await items('sort=-last&limit=500')).find(i => i.title.startsWith(title.slice(0, 20)))
      return found !== undefined
    })
    .toBe(true)
  return found as Item
}

const row = (page: Page, title: string) => page.getByRole('listitem').filter({ hasText: title })
/** Returns whether nothing overflows the window or scrolls sideways. */
const fits = (page: Page) =>
  page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll('main')].every(e => e.scrollWidth <= e.clientWidth),
  )

describe.each(sizes)('the inbox, %s', (_, look) => {
  it('has no fault that axe knows: list, one item, its questions, nothing, an item that is gone', async () => {
    const { context, page, complaints } = await opened(look, '/inbox')
    const [item] = await items('kind=escalation&state=open,acked,snoozed,resolved')
    for (const [path, ready] of [
      ['/inbox', 'main li button'],
      [`/inbox?item=${item?.id}`, 'aside ol li'],
      ['/inbox?item=nowhere', 'aside [role=alert]'],
      ['/inbox?kind=run_stalled', 'main h2'],
    ] as const) {
      await page.goto(path)
      await page.locator(ready).first().waitFor()
      expect(await axeFaults(page), path).toEqual([])
    }
    await page.goto(`/inbox?item=${item?.id}`)
    await page.getByRole('button', { name: 'Snooze', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Pick a time' }).click()
    await page.getByLabel('Snooze until').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Resolve…' }).click()
    await page.getByLabel('How was it resolved?').waitFor()
    expect(await axeFaults(page)).toEqual([])
    expect(complaints.filter(c => !c.includes('404'))).toEqual([])
    if (look.width < 600) await page.setViewportSize({ width: 320, height: 640 })
    expect(await fits(page)).toBe(true)
    await context.close()
  })
})

// Acknowledging must take one click or one key.
describe('an escalation', () => {
  it('is acknowledged with the pointer, here and where others look, and the way back works', async () => {
    const one = await opened(desktop, '/inbox')
    const two = await opened(desktop, '/inbox')
    await two.page.getByText('Live', { exact: true }).waitFor()
    const rail = one.page.getByRole('link', { name: /Inbox/ }).first()
    await expect.poll(() => rail.textContent()).toContain('open item')
    await row(one.page, escalation)
      .getByRole('button', { name: /^Acknowledge/ })
      .click()
    await row(one.page, escalation).getByText('Acknowledged').waitFor()
    await row(two.page, escalation).getByText('Acknowledged').waitFor()
    expect(await stateOf(escalation)).toBe('acked')
    await expect.poll(() => rail.textContent()).not.toContain('open item')
    await one.page.getByRole('button', { name: 'Undo' }).click()
    await row(two.page, escalation).getByText('Open', { exact: true }).waitFor()
    expect(await stateOf(escalation)).toBe('open')
    expect([...one.complaints, ...two.complaints]).toEqual([])
    await one.context.close()
    await two.context.close()
  })

  it('is acknowledged, read and resolved with a word by keyboard alone', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks')
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    await page.locator('main').focus()
    await press('g', 'i')
    await row(page, escalation).waitFor()
    await press('j', 'e')
    await row(page, escalation).getByText('Acknowledged').waitFor()
    await press('o')
    const panel = page.getByRole('complementary', { name: 'Inbox item' })
    await panel.getByRole('heading', { name: escalation }).waitFor()
    expect(page.url()).toContain('item=')
    await panel.getByRole('button', { name: 'Resolve…' }).focus()
    await press('Enter')
    await page.getByLabel('How was it resolved?').fill('The new card is on file')
    await press('Enter')
    await panel.getByText('Resolved by').waitFor()
    await panel.getByText('The new card is on file').first().waitFor()
    await panel.getByText('resolved the item').waitFor()
    expect(await row(page, escalation).count()).toBe(0)
    await panel.getByRole('button', { name: 'Reopen' }).focus()
    await press('Enter')
    await row(page, escalation).getByText('Open', { exact: true }).waitFor()
    await panel.focus()
    await press('Escape')
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe(escalation)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('leads to the task that it is about', async () => {
    const { context, page } = await opened(phone, '/inbox')
    await page.getByRole('button', { name: escalation, exact: true }).click()
    const panel = page.getByRole('complementary', { name: 'Inbox item' })
    await panel.getByRole('link', { name: /Task TASK-/ }).click()
    await page.getByRole('heading', { name: 'Renew the signing certificate' }).waitFor()
    await page.goBack()
    await panel.getByRole('heading', { name: escalation }).waitFor()
    await panel.getByRole('button', { name: 'Close' }).click()
    await row(page, escalation).waitFor()
    await page.goBack()
    await row(page, escalation).waitFor()
    expect(await panel.count()).toBe(0)
    await context.close()
  })
})

describe('an item', () => {
  it('waits behind "new" until one wants it, is put off, found again and brought back', async () => {
    const { context, page, complaints } = await opened(desktop, '/inbox')
    await row(page, escalation).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await fail('Put off')
    const wait = page.getByRole('button', { name: 'Show 1 new item' })
    await wait.waitFor()
    expect(await row(page, 'Put off').count()).toBe(0)
    await wait.click()
    await row(page, 'Put off')
      .getByRole('button', { name: /^Snooze/ })
      .click()
    await page.getByRole('menuitem', { name: 'For 1 hour' }).click()
    await expect.poll(() => row(page, 'Put off').count()).toBe(0)
    // The focus moves to the next item.
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe(escalation)
    await expect.poll(() => stateOf('Put off')).toBe('snoozed')
    await choose(page.getByLabel('Status', { exact: true }), 'snoozed')
    await page.waitForURL('**/inbox?state=snoozed')
    await page.reload()
    await row(page, 'Put off').getByText('Snoozed').waitFor()
    await row(page, 'Put off').getByRole('button', { name: /^More/ }).click()
    await page.getByRole('menuitem', { name: 'Reopen' }).click()
    await expect.poll(() => stateOf('Put off')).toBe('open')
    await page.getByRole('button', { name: 'Clear filters' }).first().click()
    await row(page, 'Put off').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is put off until a time of one’s own, and not until one that is over', async () => {
    await fail('Another time')
    const { context, page, complaints } = await opened(desktop, '/inbox')
    await row(page, 'Another time')
      .getByRole('button', { name: /^Snooze/ })
      .click()
    await page.getByRole('menuitem', { name: 'Pick a time' }).click()
    await page.getByLabel('Snooze until').fill('1 Jan 2020')
    await page.getByLabel('Time', { exact: true }).fill('8')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Enter a time within').waitFor()
    const day = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)
    await page.getByLabel('Snooze until').fill(day)
    await page.keyboard.press('Enter')
    await expect.poll(() => stateOf('Another time')).toBe('snoozed')
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => stateOf('Another time')).toBe('open')
    await row(page, 'Another time').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is taken on, and found among what one sees to', async () => {
    await fail('Mine now')
    const { context, page, complaints } = await opened(desktop, '/inbox')
    await row(page, 'Mine now').getByRole('button', { name: /^More/ }).click()
    await page.getByRole('menuitem', { name: /\(you\)$/ }).click()
    await expect
      .poll(async () => (await items('assignee=me')).map(i => i.title))
      .toEqual([expect.stringContaining('Mine now')])
    await choose(page.getByLabel('Assigned to', { exact: true }), 'me')
    await page.waitForURL('**/inbox?assignee=me')
    await row(page, 'Mine now').waitFor()
    await expect.poll(() => page.getByRole('main').getByRole('listitem').count()).toBe(1)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('that was resolved elsewhere meanwhile says so, and is shown as it is', async () => {
    const item = await fail('Two at once')
    const { context, page } = await opened(desktop, '/inbox')
    await row(page, 'Two at once').getByRole('button', { name: /^More/ }).click()
    await page.getByRole('menuitem', { name: 'Resolve…' }).click()
    await call(demo, 'POST', `/inbox/${item.id}/ack`)
    await page.getByLabel('How was it resolved?').fill('mine')
    await page.keyboard.press('Enter')
    await page
      .getByRole('region', { name: 'Notifications' })
      .getByText('The item has changed since you read it.')
      .waitFor()
    await row(page, 'Two at once').getByText('Acknowledged').waitFor()
    await context.close()
  })
})

// Agents' texts must never run as markup or break the layout.
describe('hostile titles', () => {
  it('are shown as they are', async () => {
    const hostile =
      '<img src=x onerror="document.title=1"><script>document.title=2</script> [x](javascript:document.title=3) ' +
      'x'.repeat(80)
    const item = await fail(hostile)
    for (const look of [desktop, looks['light phone']]) {
      const { context, page, complaints } = await opened(look, `/inbox?item=${item.id}`)
      await page.locator('aside h2').waitFor()
      await page.locator('aside ol li').first().waitFor()
      expect(await page.locator('aside h2').textContent()).toBe(item.title)
      expect(await page.locator('main img, main script, main [onerror], main a[href^="javascript"]').count()).toBe(0)
      expect(await page.title()).toContain('Inbox · Wardroom')
      expect(await fits(page)).toBe(true)
      expect(await axeFaultsNightly(page)).toEqual([])
      await page.goto('/')
      await page.getByRole('region', { name: 'Needs you' }).getByText('<img src=x').first().waitFor()
      expect(await fits(page)).toBe(true)
      expect(complaints).toEqual([])
      await context.close()
    }
  })
})
