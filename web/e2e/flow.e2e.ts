import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, type Look, openBrowser, openPage, phone, short } from './browser.ts'
import { call, type Demo, startDemo } from './demo.ts'

let browser: Browser
let demo: Demo
beforeAll(async () => {
  browser = await openBrowser()
})
beforeEach(async () => {
  demo = await startDemo(times)
})
afterEach(async () => {
  await Promise.all(browser.contexts().map(context => context.close()))
  await demo.close()
})
afterAll(() => browser?.close())

/** Agents take as long as by default, and less in a short run. */
const times = short ? { pace: 0.8, work: 3 } : { pace: 2.5, work: 40 }
const patience = { timeout: 120_000 }
const blocker = 'The card on file at the certificate authority has expired'

/** How a person works the pages: with the mouse, or with keys alone. */
interface Hand {
  look: Look
  press: (target: Locator) => Promise<void>
  go: (page: Page, place: string, keys: string) => Promise<void>
  /** Sends the text that has been typed. */
  send: (page: Page, button: Locator) => Promise<void>
  openTask: (page: Page, key: string, title: string) => Promise<void>
}

const visible = (target: Locator) => target.filter({ visible: true }).first()

const mouse: Hand = {
  look: desktop,
  press: target => visible(target).click(),
  go: (page, place) =>
    visible(page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: place })).click(),
  send: (_, button) => button.click(),
  openTask: async (page, _, title) => {
    await mouse.go(page, 'Tasks', '')
    await mouse.press(page.getByRole('main').getByRole('link', { name: title }))
  },
}

/** Moves the focus to an element with Tab. */
async function reach(target: Locator): Promise<void> {
  const one = visible(target)
  await one.waitFor(patience)
  const isFocused = () => one.evaluate(e => e === document.activeElement)
  for (let tabs = 0; tabs < 200 && !(await isFocused()); tabs++) await one.page().keyboard.press('Tab')
  expect(await isFocused(), `the focus reaches ${target}`).toBe(true)
}

const keys: Hand = {
  look: phone,
  press: async target => {
    await reach(target)
    // A click waits for this too: a review is possible when the run has ended.
    await expect.poll(() => visible(target).isEnabled(), patience).toBe(true)
    await target.page().keyboard.press('Enter')
  },
  go: async (page, _, keys) => {
    for (const key of keys) await page.keyboard.press(key)
  },
  send: page => page.keyboard.press('Control+Enter'),
  openTask: async (page, key) => {
    await page.keyboard.press('Control+k')
    await write(page.getByRole('dialog').getByRole('combobox'), key)
    await page.getByRole('option', { name: key, selected: true }).waitFor()
    await page.keyboard.press('Enter')
  },
}

/** Types into a field, which must have the focus already. */
async function write(field: Locator, text: string): Promise<void> {
  await field.waitFor(patience)
  await expect.poll(() => field.evaluate(e => e === document.activeElement)).toBe(true)
  await field.page().keyboard.type(text)
}

/** Checks that the page has no fault that axe finds, and does not scroll sideways. Other tests run axe on whole pages. */
async function sound(page: Page, where: string, faults = axeFaultsPassing): Promise<void> {
  expect(await faults(page), where).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), where).toBe(true)
}

/** Opens the demo with its one-time link, and counts the clicks on its pages. */
async function entered(hand: Hand) {
  const { context, page, complaints } = await openPage(browser, demo.base, hand.look)
  let clicks = 0
  await context.exposeBinding('__clicked', () => clicks++)
  await context.addInitScript(() => {
    const tell = (globalThis as unknown as { __clicked: () => void }).__clicked
    // A key press that acts as a click has no detail.
    addEventListener('click', e => e.detail > 0 && tell(), true)
  })
  await page.goto(demo.link)
  const counted = async (run: () => Promise<void>) => {
    const before = clicks
    await run()
    return clicks - before
  }
  return { page, complaints, counted }
}

interface Event {
  kind: string
  actor: { name: string }
  data: { report?: string }
}
interface Held {
  id: string
  date: string
  status: string
  blockers: { task: string | null }[]
  decisions: { task: string | null; text: string; by: string; unblock: boolean }[]
  transcript: { kind: string; to: string; text: string }[]
}
const task = () => call(demo, 'GET', '/tasks/TASK-7') as Promise<{ status: string; blocked: unknown }>
/** Returns what CTO has reported about the task, oldest first. */
const reported = async () =>
  ((await call(demo, 'GET', '/tasks/TASK-7/history')) as Event[])
    .filter(e => e.kind === 'task.reported' && e.actor.name === 'CTO')
    .map(e => e.data.report)
    .reverse()

/** Returns the tool calls of the task's session. */
const calls = async () =>
  JSON.stringify(await call(demo, 'GET', '/agentrt/sessions/agent:cto:task:task-7/messages?limit=200'))

const panel = (page: Page) => page.getByRole('complementary', { name: 'TASK-7' })
const approve = (page: Page) => page.getByRole('button', { name: /^Approve: TASK-7/ })
const needsYou = (page: Page) => page.getByRole('region', { name: 'Needs you' })

/** Decides an escalation on Now, and waits until it is gone there. */
async function decide(page: Page, hand: Hand, words: string): Promise<void> {
  const button = needsYou(page).getByRole('button', { name: /^Decide: TASK-7/ })
  await hand.press(button)
  const form = page.getByRole('dialog', { name: 'Decide on TASK-7' })
  await form.getByRole('checkbox', { name: 'Send to CTO now', checked: true }).waitFor()
  await sound(page, 'the decision', axeFaults)
  await write(form.getByRole('textbox', { name: 'Your decision' }), words)
  await hand.send(page, form.getByRole('button', { name: 'Submit decision' }))
  await form.waitFor({ state: 'hidden' })
  await button.waitFor({ state: 'detached' })
}

/** Watches the task from its panel until it is in Review. */
async function watch(page: Page, says: string[]): Promise<void> {
  for (const words of says) await panel(page).getByText(words).first().waitFor(patience)
  await approve(page).first().waitFor(patience)
}

/** Runs today's standup and checks that the task is no blocker any more. */
async function holdStandup(page: Page, hand: Hand, words: string): Promise<void> {
  await hand.go(page, 'Standups', 'gd')
  await hand.press(page.getByRole('button', { name: 'Run Standup' }))
  await page.getByRole('button', { name: 'Run Standup' }).waitFor({ state: 'detached' })
  await expect
    .poll(async () => ((await call(demo, 'GET', '/standups?limit=1')) as Held[])[0]?.status, patience)
    .toBe('completed')
  const all = (await call(demo, 'GET', '/standups?limit=2')) as Held[]
  const [after, before] = (await Promise.all(all.map(s => call(demo, 'GET', `/standups/${s.id}`)))) as [Held, Held]
  expect(before.blockers.map(b => b.task)).toContain('TASK-7')
  expect(after.blockers.map(b => b.task)).not.toContain('TASK-7')
  expect(after.decisions).toMatchObject([{ task: 'TASK-7', text: words, by: 'owner', unblock: true }])
  const asked = after.transcript.filter(l => l.kind === 'question' && l.text.includes(`unblocked: ${words}`))
  expect(asked.map(l => l.to)).toEqual(['cto', 'coo'])
  // The page says the same, without a reload.
  const main = page.getByRole('main')
  await main
    .getByRole('heading', { name: /^Blockers/ })
    .first()
    .waitFor()
  await main.getByRole('link', { name: 'TASK-8' }).first().waitFor()
  expect(await main.getByText(blocker).count()).toBe(0)
  await sound(page, 'the standup')
}

// A team is helped only if a decision reaches the agent, is carried out, and is settled.
describe('an escalation', () => {
  it('is decided in four clicks, carried out, approved in one, and gone from the next standup', {
    tags: 'smoke',
  }, async () => {
    const words = 'Use the prepaid account.'
    const { page, complaints, counted } = await entered(mouse)
    await needsYou(page)
      .getByRole('button', { name: /^Decide: TASK-7/ })
      .waitFor(patience)
    await sound(page, 'Now')
    expect(await counted(() => decide(page, mouse, words))).toBeLessThanOrEqual(4)
    expect((await task()).blocked).toBeNull()

    await mouse.openTask(page, 'TASK-7', 'Renew the signing certificate')
    await watch(page, [words, 'The certificate authority accepted the order.', 'The signing certificate is renewed'])
    expect(await reported()).toEqual(['ack', 'progress', 'done'])
    await sound(page, 'the task in Review', axeFaults)

    // What it did is in its session.
    await mouse.press(panel(page).getByRole('link', { name: /session|transcript|run/i }))
    const said = page.getByRole('region', { name: 'Transcript' })
    await said.getByText('Verifying the chain before I use it.').waitFor()
    await said.getByRole('button', { name: /exec/ }).first().waitFor()
    expect(await calls()).toContain('openssl verify')
    await sound(page, 'the session')

    await mouse.go(page, 'Now', '')
    await needsYou(page)
      .getByRole('button', { name: /^Approve: TASK-7/ })
      .waitFor()
    const clicks = await counted(async () => {
      await mouse.press(approve(page))
      await expect.poll(async () => (await task()).status).toBe('done')
      await expect.poll(() => approve(page).count()).toBe(0)
    })
    expect(clicks).toBe(1)
    await holdStandup(page, mouse, words)

    // Its agent can be asked about it.
    await mouse.go(page, 'Agents', '')
    await mouse.press(page.getByRole('main').getByRole('link', { name: 'Message CTO' }))
    await write(page.getByRole('textbox', { name: 'Message CTO' }), 'Did TASK-7 work?')
    await page.getByRole('button', { name: 'Send message' }).click()
    await said.getByText('Did TASK-7 work?', { exact: true }).waitFor()
    await expect.poll(() => said.getByRole('listitem').count(), patience).toBeGreaterThan(2)
    expect(await said.getByRole('listitem').last().textContent()).toContain('TASK-7')
    await sound(page, 'the answer')
    expect(complaints).toEqual([])
  })

  it('is decided, sent back, and settled with keys alone, in the dark, on 360 pixels', { tags: 'smoke' }, async () => {
    const words = 'Pay it from the prepaid account.'
    const change = 'Make it valid for two years.'
    const { page, complaints, counted } = await entered(keys)
    await needsYou(page)
      .getByRole('button', { name: /^Decide: TASK-7/ })
      .waitFor(patience)
    await sound(page, 'Now')
    const clicks = await counted(async () => {
      await decide(page, keys, words)
      await keys.openTask(page, 'TASK-7', '')
      await watch(page, ['The signing certificate is renewed'])
      await sound(page, 'the task in Review', axeFaults)

      await keys.press(panel(page).getByRole('button', { name: 'Send back: TASK-7' }))
      const form = page.getByRole('dialog', { name: 'Send back TASK-7' })
      await write(form.getByRole('textbox', { name: 'What should change?' }), change)
      await sound(page, 'what should change', axeFaults)
      await keys.send(page, form.getByRole('button', { name: 'Send back' }))
      await form.waitFor({ state: 'hidden' })
      await approve(page).first().waitFor({ state: 'detached' })
      await watch(page, [change, 'The check after the change passes.'])
      expect(await reported()).toEqual(['ack', 'progress', 'done', 'ack', 'done'])

      await keys.press(panel(page).getByRole('button', { name: /^Approve: TASK-7/ }))
      await expect.poll(async () => (await task()).status).toBe('done')
      await page.keyboard.press('Escape')
      await holdStandup(page, keys, words)
    })
    expect(clicks).toBe(0)
    expect(complaints).toEqual([])
  })
})
