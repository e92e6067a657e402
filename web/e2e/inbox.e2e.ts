import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, looks, openPage, phone, signIn, sizes } from './browser.ts'
import { call } from './demo.ts'
import { choose } from './fields.ts'
import { browser, demo, opened, setUp } from './fixture.ts'

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

const row = (page: Page, title: string) => page.locator('li:has([data-item])').filter({ hasText: title })
const detail = (page: Page) => page.getByRole('complementary', { name: 'Inbox item' })
const dialog = (page: Page, name: string) => page.getByRole('dialog', { name })
/** Chooses from the menu of a row. */
async function pick(page: Page, title: string, item: string | RegExp): Promise<void> {
  await row(page, title).getByRole('button', { name: /^More/ }).click()
  await page.getByRole('menuitem', { name: item }).click()
}
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
    await page.goto('/inbox') // on a phone, an item fills the screen
    await page.getByRole('button', { name: 'Filters' }).first().click()
    expect(await axeFaults(page)).toEqual([])
    await page.goto(`/inbox?item=${item?.id}`)
    await detail(page)
      .getByRole('button', { name: /^Decide/ })
      .click()
    await page.getByLabel('Your decision').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Cancel' }).click()
    const more = detail(page).getByRole('button', { name: 'More' })
    await more.click()
    await page.getByRole('menuitem', { name: 'Pick a time' }).click()
    await page.getByLabel('Snooze until').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Cancel' }).click()
    await more.click()
    await page.getByRole('menuitem', { name: /^Resolve/ }).click()
    await page.getByLabel('How was it resolved?').waitFor()
    expect(await axeFaults(page)).toEqual([])
    // Of the item that is gone.
    expect(complaints.filter(c => !c.endsWith('/inbox/nowhere'))).toEqual([])
    if (look.width < 600) await page.setViewportSize({ width: 320, height: 640 })
    expect(await fits(page)).toBe(true)
    await context.close()
  })
})

describe('an escalation', () => {
  it('is acknowledged with the pointer, here and where others look, and the way back works', async () => {
    const one = await opened(desktop, '/inbox')
    const two = await opened(desktop, '/inbox')
    await two.page.getByText('Live', { exact: true }).waitFor()
    const rail = one.page.getByRole('link', { name: /Inbox/ }).first()
    await expect.poll(() => rail.textContent()).toContain('needs you')
    await detail(one.page).getByRole('button', { name: 'More' }).click()
    await one.page.getByRole('menuitem', { name: /^Acknowledge/ }).click()
    await row(one.page, escalation).getByText('Acknowledged').waitFor()
    await row(two.page, escalation).getByText('Acknowledged').waitFor()
    expect(await stateOf(escalation)).toBe('acked')
    await expect.poll(() => rail.textContent()).not.toContain('needs you')
    await one.page.getByRole('button', { name: 'Undo' }).click()
    await row(two.page, escalation).getByText('Acknowledged').waitFor({ state: 'detached' })
    expect(await stateOf(escalation)).toBe('open')
    expect([...one.complaints, ...two.complaints]).toEqual([])
    await one.context.close()
    await two.context.close()
  })

  it('is acknowledged, read and resolved with a note by keyboard, which says that the task stays blocked', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks')
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    await page.locator('main').focus()
    await press('g', 'i')
    await row(page, escalation).waitFor()
    await press('j', 'a')
    await row(page, escalation).getByText('Acknowledged').waitFor()
    await press('o')
    await detail(page).getByRole('heading', { name: escalation }).waitFor()
    expect(page.url()).toContain('item=')
    await press('e')
    await dialog(page, 'Resolve item').getByText('TASK-7 is still blocked').waitFor()
    await page.getByLabel('How was it resolved?').fill('The new card is on file')
    await press('Enter')
    await expect.poll(() => row(page, escalation).count()).toBe(0)
    await page.getByRole('button', { name: 'Undo' }).first().click()
    await row(page, escalation).click()
    await detail(page).getByText('The new card is on file').first().waitFor()
    await detail(page).getByText('resolved the item').waitFor()
    await press('Escape')
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe(escalation)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('fills the screen of a phone, and leads to its task and back to the list', async () => {
    const { context, page } = await opened(phone, '/inbox')
    await page.getByRole('button', { name: escalation, exact: true }).click()
    await detail(page)
      .getByRole('link', { name: /^TASK-7/ })
      .click()
    await page.getByRole('heading', { name: 'Renew the signing certificate' }).waitFor()
    await page.goBack()
    await detail(page).getByRole('heading', { name: escalation }).waitFor()
    expect(await row(page, escalation).isVisible()).toBe(false)
    await detail(page).getByRole('button', { name: 'Back to the list' }).click()
    await row(page, escalation).waitFor()
    expect(await detail(page).isVisible()).toBe(false)
    await page.goBack()
    await row(page, escalation).waitFor()
    expect(await detail(page).isVisible()).toBe(false)
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
      .getByRole('button', { name: /^Put off/ })
      .focus()
    await page.keyboard.press('s')
    await page.getByRole('menuitem', { name: 'For 1 hour' }).click()
    await expect.poll(() => row(page, 'Put off').count()).toBe(0)
    // The focus moves to the next item.
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe(escalation)
    await expect.poll(() => stateOf('Put off')).toBe('snoozed')
    await page.getByRole('button', { name: 'Filters' }).click()
    await choose(page.getByLabel('Status', { exact: true }), 'snoozed')
    await page.waitForURL('**/inbox?state=snoozed')
    await page.reload()
    await row(page, 'Put off').getByText('Snoozed').waitFor()
    await detail(page).getByRole('button', { name: 'Reopen' }).click()
    await expect.poll(() => stateOf('Put off')).toBe('open')
    await page.getByRole('button', { name: 'Clear filters' }).first().click()
    await row(page, 'Put off').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is put off until a time of one’s own, and not until one that is over', async () => {
    await fail('Another time')
    const { context, page, complaints } = await opened(desktop, '/inbox')
    await pick(page, 'Another time', 'Pick a time')
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
    await pick(page, 'Mine now', /\(you\)$/)
    await expect
      .poll(async () => (await items('assignee=me')).map(i => i.title))
      .toEqual([expect.stringContaining('Mine now')])
    await page.getByRole('button', { name: 'Filters' }).click()
    await choose(page.getByLabel('Assigned to', { exact: true }).first(), 'me')
    await page.waitForURL('**/inbox?assignee=me')
    await row(page, 'Mine now').waitFor()
    await expect.poll(() => page.locator('li:has([data-item])').count()).toBe(1)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('that was resolved elsewhere meanwhile says so, and is shown as it is', async () => {
    const item = await fail('Two at once')
    const { context, page } = await opened(desktop, '/inbox')
    await pick(page, 'Two at once', 'Resolve…')
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

// A person must see what is wrong with the connection where it is told.
describe('trouble with the gateway', () => {
  it('is tested in place', async () => {
    const [item] = await items('state=open')
    const { context, page, complaints } = await openPage(browser, demo.base, desktop)
    const trouble = {
      ...item,
      kind: 'gateway_trouble',
      title: 'Gateway offline',
      subject: { kind: 'gateway', id: 'g', name: '' },
    }
    await page.route('**/api/v1/inbox?*', route => route.fulfill({ json: [trouble] }))
    await page.goto('/')
    await signIn(page, demo)
    await page.getByRole('button', { name: 'Test connection: Gateway offline' }).click()
    const checks = dialog(page, 'Test connection').getByRole('list')
    await expect.poll(() => checks.locator('[data-state=ok]').count()).toBeGreaterThan(3)
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.keyboard.press('Escape')
    await dialog(page, 'Test connection').waitFor({ state: 'hidden' })
    expect(new URL(page.url()).pathname).toBe('/')
    expect(complaints).toEqual([])
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
      expect(await axeFaultsPassing(page)).toEqual([])
      await page.goto('/')
      await page.getByRole('region', { name: 'Needs you' }).getByText('<img src=x').first().waitFor()
      expect(await fits(page)).toBe(true)
      expect(complaints).toEqual([])
      await context.close()
    }
  })
})

interface Task {
  status: string
  moved_at: string
  blocked: object | null
}
const task = async (key: string) => (await call(demo, 'GET', `/tasks/${key}`)) as Task
const commentsOn = async (key: string) =>
  ((await call(demo, 'GET', `/tasks/${key}/comments`)) as { body: string }[]).map(c => c.body)

// flow.e2e.ts follows a decision that unblocks its task to the end.
describe('a decision', () => {
  it('is made by keyboard alone, and can leave the task blocked', async () => {
    const { context, page, complaints } = await opened(desktop, '/inbox')
    await row(page, escalation).waitFor()
    for (const key of ['k', 'Enter']) await page.keyboard.press(key)
    const form = dialog(page, 'Decide on TASK-7')
    await form.getByRole('checkbox', { name: 'Send to CTO now' }).waitFor()
    await page.keyboard.type('Wait for Monday.')
    for (const key of ['Tab', 'Space', 'Tab', 'Space']) await page.keyboard.press(key)
    await form.getByText('The item stays in the inbox, acknowledged.').waitFor()
    await page.getByLabel('Your decision').focus()
    await page.keyboard.press('Control+Enter')
    await row(page, escalation).getByText('Acknowledged').waitFor()
    expect((await task('TASK-7')).blocked).not.toBeNull()
    expect(await commentsOn('TASK-7')).toContain('Wait for Monday.')
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Reviews must not need a trip through the task's form.
describe('a task in Review', () => {
  const card = (page: Page, column: string) =>
    page.getByRole('region', { name: column, exact: true }).getByRole('article').filter({ hasText: 'Interview five' })

  it('is approved from its card and from Now, with Undo', async () => {
    const [item] = (await items('kind=task_review&state=resolved')).filter(i => i.title.startsWith('TASK-3 '))
    await call(demo, 'POST', `/inbox/${item?.id}/reopen`, {}) // all items were resolved above
    const { context, page, complaints } = await opened(desktop, '/tasks?view=board')
    await card(page, 'Review').getByRole('button', { name: 'Approve: TASK-3' }).click()
    await card(page, 'Done').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await card(page, 'Review').waitFor()
    await page.goto('/')
    const needs = page.getByRole('region', { name: 'Needs you', exact: true })
    await needs.getByRole('button', { name: 'Approve: TASK-3' }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(async () => (await task('TASK-3')).status).toBe('done')
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(async () => (await task('TASK-3')).status).toBe('review')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('keeps its age and its item if the approval of the item is undone, here and in the palette', async () => {
    const [item] = (await items('kind=task_review')).filter(i => i.title.startsWith('TASK-3 '))
    const since = (await task('TASK-3')).moved_at
    const { context, page, complaints } = await opened(desktop, '/inbox')
    const undone = async () => {
      await expect.poll(async () => (await task('TASK-3')).status).toBe('done')
      await page.getByRole('button', { name: 'Undo' }).click()
      await expect.poll(async () => (await task('TASK-3')).status).toBe('review')
      expect((await task('TASK-3')).moved_at).toBe(since)
      expect((await items('kind=task_review')).filter(i => i.id === item?.id)).toMatchObject([
        { state: 'open', count: 1 },
      ])
    }
    await row(page, 'TASK-3').getByRole('button', { name: 'Approve' }).click()
    await undone()
    await page.reload()
    await row(page, 'TASK-3').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('option', { name: 'Approve TASK-3' }).click()
    await undone()
    expect(complaints).toEqual([])
    await context.close()
  })

  // One step must lead from what the receipt misses to the agent that mends it.
  it('shows the gap of its receipt, with which Send back begins', async () => {
    const gap = "The task's check `bin/lint-docs interviews/summary.md` did not run."
    const receipt = async () => (await call(demo, 'GET', '/tasks/TASK-3/receipt')) as { pending: boolean }
    await expect.poll(async () => (await receipt()).pending).toBe(false)
    const [item] = (await items('kind=task_review')).filter(i => i.title.startsWith('TASK-3 '))
    const { context, page, complaints } = await opened(phone, `/inbox?item=${item?.id}`)
    const shown = page.getByRole('complementary', { name: 'Inbox item' })
    await shown.getByRole('region', { name: 'Receipt' }).getByText('did not run.').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await shown.getByRole('button', { name: /^Send back/ }).click()
    const form = page.getByRole('dialog', { name: 'Send back TASK-3' })
    expect(await form.getByRole('textbox', { name: 'What should change?' }).inputValue()).toBe(gap)
    await form.getByRole('button', { name: 'Cancel' }).click()
    expect((await task('TASK-3')).status).toBe('review')
    expect(complaints).toEqual([])
    await context.close()
  })

  // A review that is snoozed must not come back as a row of its task.
  it('is gone from Now while its item is snoozed or someone else has it', async () => {
    const other = (await call(demo, 'POST', '/tasks', { title: 'Read the notes', status: 'review' })) as { key: string }
    const { context, page } = await opened(desktop, '/')
    const needs = page.getByRole('region', { name: 'Needs you', exact: true })
    await needs.getByText('TASK-3 is waiting').waitFor()
    const [item] = await items('kind=task_review')
    const until = new Date(Date.now() + 3_600_000).toISOString()
    for (const [act, body] of [
      ['snooze', { until }],
      ['ack', {}],
    ] as const) {
      await call(demo, 'POST', `/inbox/${item?.id}/${act}`, body)
      await expect.poll(() => needs.getByText('TASK-3').count()).toBe(0)
      await page.reload()
      await needs.getByText(other.key).waitFor()
      await expect.poll(() => needs.getByText('TASK-3').count()).toBe(0)
    }
    await context.close()
  })
})
