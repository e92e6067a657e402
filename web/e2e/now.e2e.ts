import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsNightly } from './axe.ts'
import { desktop, openPage, phone, signIn, sizes } from './browser.ts'
import { call } from './demo.ts'
import { browser, demo, opened, setUp } from './fixture.ts'
import { openOwned } from './service.ts'

setUp()

const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const cards = ['Needs you', 'Agents', 'Spend today', 'Scheduled runs', 'Failures, last 24 hours', 'Last standup']
/** Returns whether nothing overflows the window or scrolls sideways. */
const fits = (page: Page) =>
  page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll('main')].every(e => e.scrollWidth <= e.clientWidth),
  )

/** Waits until everything has loaded. */
async function settled(page: Page): Promise<void> {
  for (const name of cards) await card(page, name).waitFor()
  await expect.poll(() => page.locator('main .skeleton').count()).toBe(0)
}

describe.each(sizes)('now, %s', (_, look) => {
  it('has every card, and no fault that axe knows', async () => {
    const { context, page, complaints } = await opened(look, '/')
    await settled(page)
    const sentence = (await page.getByRole('region', { name: 'Status summary' }).textContent()) ?? ''
    expect(sentence).toMatch(/^(No agents|\d+ agents?) active.*, (no|\d+) blocked tasks?, .*standup[^,]*\.$/)
    expect(await axeFaults(page)).toEqual([])
    if (look.width < 600) await page.setViewportSize({ width: 320, height: 640 })
    expect(await fits(page)).toBe(true)
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('what needs me', () => {
  it('is acknowledged and put back in place, by keyboard', async () => {
    const { context, page, complaints } = await opened(desktop, '/')
    const needs = card(page, 'Needs you')
    const first = needs.getByRole('listitem').first().getByRole('button').first()
    await first.waitFor()
    const item = (await first.textContent()) as string
    await page.keyboard.press('j')
    await page.keyboard.press('a')
    await needs.getByRole('button', { name: item, exact: true }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await needs.getByRole('button', { name: item, exact: true }).click()
    await page.waitForURL('**/inbox?item=*')
    await page.getByRole('complementary', { name: 'Inbox item' }).getByRole('heading', { name: item }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the facts', () => {
  it('change as things happen, without a reload', async () => {
    const { context, page, complaints } = await opened(desktop, '/')
    await settled(page)
    await page.getByText('Live', { exact: true }).waitFor()
    const sentence = page.getByRole('region', { name: 'Status summary' })
    const blocked = async () => Number(/(\d+) blocked/.exec((await sentence.textContent()) ?? '')?.[1] ?? 0)
    const before = await blocked()
    const task = (await call(demo, 'POST', '/tasks', { title: 'Held up' })) as { key: string }
    await call(demo, 'PATCH', `/tasks/${task.key}`, { blocked: { reason: 'no access' } })
    await expect.poll(blocked).toBe(before + 1)
    await call(demo, 'PATCH', `/tasks/${task.key}`, { blocked: null })
    await expect.poll(blocked).toBe(before)

    // Initial values don't flash; changed ones do, unless reduced motion is set.
    const lit = card(page, 'Agents').locator('.flash')
    expect(await lit.count()).toBe(0)
    const today = (await call(demo, 'POST', '/standups', {})) as { id: string }
    await call(demo, 'POST', `/standups/${today.id}/run`, {})
    await sentence.getByText('standup running').waitFor()
    await card(page, 'Last standup').getByText('Running').waitFor()
    await lit.first().waitFor()
    const animation = () => lit.first().evaluate(e => getComputedStyle(e).animationName)
    expect(await animation()).toBe('none')
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    expect(await animation()).toBe('flash')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await card(page, 'Last standup').getByText('Completed').waitFor({ timeout: 120_000 })
    await sentence.getByText(/last standup \d\d:\d\d/).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Days before tracking started have unknown cost, not zero.
describe('the week before', () => {
  it.each([
    ['2099-01-01T00:00:00.000Z', /^Last \w+: no data, because tracking started later$/],
    ['2020-01-01T00:00:00.000Z', /^Last \w+: \$[\d.]+ by \d\d:00, \$[\d.]+ full day$/],
  ])('of a ledger that begins at %s is told as it is', async (begins, want) => {
    const { context, page, complaints } = await openPage(browser, demo.base, desktop)
    await page.route(/\/api\/v1\/usage\?.*group=hour/, async route => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json()), ledger_begins_at: begins } })
    })
    await page.goto('/')
    await signIn(page, demo)
    const line = card(page, 'Spend today').getByText(/^Last /)
    await line.waitFor()
    expect(await line.textContent()).toMatch(want)
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the scheduled runs', () => {
  it('stand on a ribbon and in a table, which is in the address', async () => {
    const job = {
      name: '<b>every hour</b>',
      agentId: 'cto',
      schedule: { expr: '7 * * * *', tz: 'Europe/Berlin' },
      payload: { message: 'Look around.' },
    }
    await call(demo, 'POST', '/agentrt/jobs', job)
    const { context, page, complaints } = await opened(desktop, '/')
    const runs = card(page, 'Scheduled runs')
    await runs.getByRole('img', { name: /Scheduled runs, .*upcoming/ }).waitFor()
    await runs.getByRole('button', { name: 'Table view' }).click()
    await page.waitForURL('**/?runs=table')
    await page.reload()
    await runs.getByRole('cell', { name: '<b>every hour</b>' }).first().waitFor()
    await expect.poll(() => runs.getByRole('row').count()).toBeGreaterThan(10)
    expect(await axeFaultsNightly(page)).toEqual([])
    const saved = page.waitForEvent('download')
    await runs.getByRole('button', { name: 'Download CSV' }).click()
    expect((await saved).suggestedFilename()).toBe('scheduled-runs.csv')
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('what went wrong', () => {
  it('of a job is told with its reason, and is run anew from there', async () => {
    const job = (await call(demo, 'POST', '/agentrt/jobs', {
      name: 'count the stock',
      agentId: 'cpo',
      schedule: { expr: '0 0 1 1 *', tz: 'Europe/Berlin' },
      payload: { message: 'Count.' },
    })) as { id: string }
    const due = new Date(Date.now() - 3_600_000).toISOString()
    const slot = { job_id: job.id, name: 'count the stock', agent_id: 'cpo', due_at: due, deadline_at: due }
    const missed = { ...slot, state: 'missed', reason: 'Nothing began in time.', judged_at: due, started_at: null }
    const { context, page, complaints } = await openPage(browser, demo.base, desktop)
    await page.route('**/api/v1/agentrt/slots?*', route => route.fulfill({ json: [missed] }))
    await page.goto('/')
    await signIn(page, demo)
    const runs = card(page, 'Scheduled runs')
    await runs.getByRole('img', { name: /1 missed/ }).waitFor()
    await runs.getByText('Nothing began in time.').waitFor()
    expect(await axeFaultsNightly(page)).toEqual([])
    await runs.getByRole('button', { name: 'Run now: count the stock' }).click()
    await page.getByText('count the stock started').first().waitFor()
    const ran = async () => (await call(demo, 'GET', `/agentrt/jobs/${job.id}/runs`)) as unknown[]
    await expect.poll(async () => (await ran()).length, { timeout: 60_000 }).toBeGreaterThan(0)
    // A recovered run has no Run now button.
    await runs.getByText(/succeeded when it was run again at \d\d:\d\d/).waitFor()
    await runs.getByRole('img', { name: /1 recovered/ }).waitFor()
    expect(await runs.getByRole('button', { name: 'Run now: count the stock' }).count()).toBe(0)
    expect(await axeFaultsNightly(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })

  it('of a standup is told by its cause, leads to its item, and is tried again from there', async () => {
    await call(demo, 'POST', '/teams', {
      key: 'ghosts',
      name: 'Ghosts',
      facilitator: 'ghost',
      participants: ['ghost-1'],
    })
    const { context, page, complaints } = await opened(desktop, '/')
    await settled(page)
    await page.getByText('Live', { exact: true }).waitFor()
    const made = { team: 'ghosts', date: '2030-02-01', title: 'Talk of the ghosts' }
    const standup = (await call(demo, 'POST', '/standups', made)) as { id: string }
    await call(demo, 'POST', `/standups/${standup.id}/run`, {})
    const last = card(page, 'Last standup')
    await last.getByText('Failed', { exact: true }).waitFor()
    await last.getByText('has no active agent account').waitFor()
    const failures = card(page, 'Failures, last 24 hours')
    const ours = failures.getByRole('listitem').filter({ hasText: 'Talk of the ghosts' })
    await ours.getByText('once').waitFor()
    await last.getByRole('button', { name: 'Retry standup' }).click()
    await ours.getByText('2 times').waitFor()
    await ours.getByRole('link', { name: 'Talk of the ghosts failed' }).click()
    const item = page.getByRole('complementary', { name: 'Inbox item' })
    await item.getByRole('heading', { name: 'Talk of the ghosts failed' }).waitFor()
    await item.getByText('Raised 2 times').waitFor()
    await item.getByRole('button', { name: /^Retry standup: / }).click()
    await item.getByText('Raised 3 times').waitFor()
    await expect
      .poll(() => page.getByRole('button', { name: 'Retry standup: Talk of the ghosts failed' }).count())
      .toBe(2)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// A failing card must not affect the others, and unknown values must not read as zero.
describe('without a gateway', () => {
  it('says so, leads to where it is set up, and the rest goes on', async () => {
    const bare = await openOwned()
    try {
      for (const look of [desktop, phone]) {
        const { context, page, complaints } = await opened(look, '/', bare)
        await settled(page)
        await card(page, 'Agents').getByText('No gateway.').waitFor()
        await card(page, 'Agents').getByText('Can’t list agents').waitFor()
        await card(page, 'Needs you').getByText('Nothing needs you').waitFor()
        await card(page, 'Scheduled runs').getByText('No gateway connected').waitFor()
        await card(page, 'Last standup').getByText('No standups yet').waitFor()
        await card(page, 'Failures, last 24 hours').getByText('No failures').waitFor()
        expect(await page.getByRole('region', { name: 'Status summary' }).textContent()).toBe(
          'Agents unknown, no blocked tasks, no standup yet.',
        )
        expect(await axeFaultsNightly(page)).toEqual([])
        // The browser logs the failed request for sessions.
        expect(complaints.filter(c => !c.includes('503'))).toEqual([])
        await card(page, 'Agents').getByRole('link', { name: 'Settings' }).click()
        await page.waitForURL(/\/settings/)
        await context.close()
      }
    } finally {
      await bare.close()
    }
  })

  it('keeps the other cards when one cannot be read', async () => {
    const { context, page } = await openPage(browser, demo.base, desktop)
    await page.route('**/api/v1/usage?*', route => route.fulfill({ status: 500, body: 'no' }))
    await page.route('**/api/v1/standups?*', route => route.fulfill({ status: 500, body: 'no' }))
    await page.goto('/')
    await signIn(page, demo)
    await card(page, 'Spend today').getByRole('alert').waitFor()
    await card(page, 'Last standup').getByRole('alert').waitFor()
    const sentence = page.getByRole('region', { name: 'Status summary' })
    await sentence.getByText('last standup unknown').waitFor()
    await card(page, 'Agents').getByRole('link', { name: 'CTO' }).waitFor()
    await page.unroute('**/api/v1/usage?*')
    await card(page, 'Spend today').getByRole('button', { name: 'Try again' }).click()
    await card(page, 'Spend today').getByText('$').first().waitFor()
    await context.close()
  })
})
