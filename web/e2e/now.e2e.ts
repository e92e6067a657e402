import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, openPage, phone, signIn, sizes } from './browser.ts'
import { call } from './demo.ts'
import { browser, demo, opened, setUp } from './fixture.ts'
import { openOwned } from './service.ts'

setUp()

const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const cards = ['Needs you', 'Agents', 'Spend today', 'Timeline']
const rows = (page: Page, text: string | RegExp) =>
  card(page, 'Timeline').getByRole('listitem').filter({ hasText: text })
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
    expect(sentence).toMatch(
      /^(Nothing needs you|\d+ things? needs? you: [^.]+)\. (.+, )?(no|\d+) blocked tasks?, .*standup[^,]*\.$/i,
    )
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
    await lit.first().waitFor()
    const animation = () => lit.first().evaluate(e => getComputedStyle(e).animationName)
    expect(await animation()).toBe('none')
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    expect(await animation()).toBe('flash')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await rows(page, /Standup of .* completed/)
      .first()
      .waitFor({ timeout: 120_000 })
    await sentence.getByText(/last standup \d\d:\d\d/).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Days before tracking started have unknown cost, not zero.
describe('the week before', () => {
  it.each([
    ['2099-01-01T00:00:00.000Z', /^Last \w+: no data, because tracking started later$/],
    ['2020-01-01T00:00:00.000Z', /^Last \w+: (\$[\d.]+ by \d\d:\d\d, )?\$[\d.]+ full day$/],
  ])('of a ledger that begins at %s is told as it is', async (begins, want) => {
    const { context, page, complaints } = await openPage(browser, demo.base, desktop)
    await page.route(/\/api\/v1\/usage\?.*group=day/, async route => {
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

describe('the timeline', () => {
  it('has what was and what comes next, and leads to a run', async () => {
    const { context, page, complaints } = await opened(desktop, '/')
    await settled(page)
    await rows(page, /\d\d:\d\dnow/).waitFor()
    const texts = await rows(page, '').allTextContents()
    const now = texts.findIndex(t => t.endsWith('now'))
    expect(now).toBeGreaterThan(0)
    expect(now).toBeLessThan(texts.length - 3)
    // Everything is above the fold.
    const box = await card(page, 'Timeline').boundingBox()
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(900)
    await rows(page, 'Check the error rate').last().getByRole('link').click()
    await page.waitForURL('**/sessions/agent*cron*')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('marks what did not run, until the job succeeds', async () => {
    const job = (await call(demo, 'POST', '/agentrt/jobs', {
      name: '<b>count the stock</b>',
      agentId: 'cpo',
      schedule: { expr: '0 0 1 1 *', tz: 'Europe/Berlin' },
      payload: { message: 'Count.' },
    })) as { id: string }
    const due = new Date(Date.now() - 3_600_000).toISOString()
    const slot = { job_id: job.id, name: '<b>count the stock</b>', agent_id: 'cpo', due_at: due, deadline_at: due }
    const missed = { ...slot, state: 'missed', reason: 'Nothing began in time.', judged_at: due, started_at: null }
    const { context, page, complaints } = await openPage(browser, demo.base, desktop)
    await page.route('**/api/v1/agentrt/slots?*', route => route.fulfill({ json: [missed] }))
    await page.goto('/')
    await signIn(page, demo)
    const row = rows(page, '<b>count the stock</b> did not run')
    expect(await row.getByRole('link').getAttribute('href')).toBe(`/schedules?job=${job.id}`)
    expect(await row.getAttribute('data-tone')).toBe('danger')
    expect(await axeFaultsPassing(page)).toEqual([])
    await call(demo, 'POST', `/agentrt/jobs/${job.id}/run`)
    await rows(page, '<b>count the stock</b> failed, then recovered').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })

  it('has a standup that failed, which needs me until a retry', async () => {
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
    await rows(page, 'Talk of the ghosts failed').first().waitFor()
    const needs = card(page, 'Needs you')
    await needs.getByRole('button', { name: /^Show \d+ new/ }).click()
    const ours = needs.getByRole('listitem').filter({ hasText: 'Talk of the ghosts' })
    await ours.getByRole('button', { name: /^Retry standup/ }).click()
    await ours.getByText('2 times').waitFor()
    await ours.getByRole('button', { name: 'Talk of the ghosts failed', exact: true }).click()
    const item = page.getByRole('complementary', { name: 'Inbox item' })
    await item.getByText('has no active agent account').first().waitFor()
    await item.getByText('2 times, first').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

// A limit that was passed must not look like one of many facts.
describe('a reached limit', () => {
  it('is in the summary and in its item, with the current usage, and leads to where it is changed', async () => {
    const [item] = (await call(demo, 'GET', '/inbox?state=open')) as object[]
    const limit = { id: 'l', version: 1, scope: 'all', scope_id: '', measure: 'usd', window: 'month', action: 'tell' }
    const amounts = { amount: '22', allowed: '22', used: '25.83', timezone: 'UTC', measurable: true, unpriced_runs: 0 }
    const subject = { kind: 'limit', id: 'l', name: '' }
    const reached = { ...item, kind: 'limit_reached', title: 'Limit reached', detail: 'Usage is $22.07.', subject }
    const { context, page, complaints } = await openPage(browser, demo.base, desktop)
    await page.route('**/api/v1/limits', route => route.fulfill({ json: { limits: [{ ...limit, ...amounts }] } }))
    await page.route('**/api/v1/inbox?*', route => route.fulfill({ json: [reached] }))
    await page.goto('/')
    await signIn(page, demo)
    await card(page, 'Needs you').getByText('Now $25.83 of $22. Runs continue.').waitFor()
    await page.getByRole('region', { name: 'Status summary' }).getByRole('link', { name: '1 limit reached' }).click()
    await page.waitForURL('**/spend?part=limits')
    await page.getByRole('button', { name: 'Stop runs: Everything: $22 per month' }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the agents', () => {
  it('show that a run is in progress, then its result, and lead to it', async () => {
    const { context, page, complaints } = await opened(desktop, '/')
    await settled(page)
    const tile = card(page, 'Agents').getByRole('listitem').filter({ hasText: 'CTO' })
    await tile.getByText(/\$[\d.]+ (today · \d+ runs?|so far)/).waitFor()
    await call(demo, 'POST', '/agents/cto/messages', { text: 'Which test fails?' })
    await tile.getByText('Active').waitFor()
    await tile.getByText('Idle').waitFor({ timeout: 120_000 })
    await tile.getByRole('link').nth(1).click()
    await page.waitForURL('**/sessions/agent*cto*')
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Two pages that show different numbers for the same thing make people distrust both.
describe('one number', () => {
  it('of what needs me, of reviews, of blocked tasks, and of today is the same on all pages', async () => {
    const { context, page, complaints } = await opened(desktop, '/')
    await settled(page)
    const sentence = page.getByRole('region', { name: 'Status summary' })
    const inSentence = async (what: RegExp) => what.exec((await sentence.textContent()) ?? '')?.[1] ?? '0'
    const needs = card(page, 'Needs you')
    const shown = async () => {
      const more = /(\d+) more in Inbox/.exec((await needs.textContent()) ?? '')?.[1] ?? '0'
      return (await needs.getByRole('listitem').count()) + Number(more)
    }
    const badge = async () =>
      (
        await page
          .getByRole('navigation')
          .first()
          .locator('.sr-only', { hasText: /needs? you/ })
          .allTextContents()
      )[0]?.split(' ')[0] ?? '0'
    const needing = () => inSentence(/(\d+) things? needs? you/)
    await expect.poll(async () => `${await needing()} ${await badge()}`).toBe(`${await shown()} ${await shown()}`)
    const reviews = await inSentence(/(\d+) reviews?/)
    const blocked = await inSentence(/(\d+) blocked/)
    const total = async (query: string) =>
      String(((await call(demo, 'GET', `/tasks?limit=100&${query}`)) as unknown[]).length)
    expect(reviews).toBe(await total('status=review'))
    expect(blocked).toBe(await total('blocked=true&status=backlog,todo,in_progress,review'))
    const money = /\$\d+(\.\d\d)?/
    const today = async () => money.exec((await card(page, 'Spend today').textContent()) ?? '')?.[0] ?? ''
    const spent = await today()
    await page.goto('/tasks?view=board')
    const column = page.getByRole('region', { name: 'Review', exact: true })
    await column.getByRole('article').first().waitFor()
    expect(String(await column.getByRole('article').count())).toBe(reviews)
    await page.goto('/spend?period=today')
    // Runs may have ended meanwhile: the top bar has the same sum at any moment.
    const bar = page.getByRole('banner').getByText(money).first()
    const sum = page.getByRole('main').getByText(money).first()
    await expect
      .poll(async () => money.exec((await sum.textContent()) ?? '')?.[0])
      .toBe(money.exec((await bar.textContent()) ?? '')?.[0])
    expect(Number(spent.slice(1))).toBeLessThanOrEqual(Number((await bar.textContent())?.match(/\d+(\.\d\d)?/)?.[0]))
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
        await card(page, 'Timeline').getByText('Nothing in the last 12 hours').waitFor()
        expect(await page.getByRole('region', { name: 'Status summary' }).textContent()).toBe(
          'Nothing needs you. Agents unknown, no blocked tasks, no standup yet.',
        )
        expect(await axeFaultsPassing(page)).toEqual([])
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
    await page.route('**/api/v1/activity?*', route => route.fulfill({ status: 500, body: 'no' }))
    await page.goto('/')
    await signIn(page, demo)
    await card(page, 'Spend today').getByRole('alert').waitFor()
    await card(page, 'Timeline').getByRole('alert').waitFor()
    const sentence = page.getByRole('region', { name: 'Status summary' })
    await sentence.getByText('last standup unknown').waitFor()
    await card(page, 'Agents').getByRole('link', { name: 'CTO' }).waitFor()
    await page.unroute('**/api/v1/usage?*')
    await card(page, 'Spend today').getByRole('button', { name: 'Try again' }).click()
    await card(page, 'Spend today').getByText('$').first().waitFor()
    await context.close()
  })
})
