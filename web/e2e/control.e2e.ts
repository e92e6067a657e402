// What people answer, hold, and limit. At its start the demo asks for one approval and one answer.
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { axeFaults } from './axe.ts'
import { desktop, looks, phone } from './browser.ts'
import { call, startDemo } from './demo.ts'
import { demo, opened, restartDemo, setUp } from './fixture.ts'

const play = { live: true, pace: 0.3, work: 1 }
setUp({ open: () => startDemo(play) })

const row = (page: Page, text: string) => page.locator('li:has([data-item])').filter({ hasText: text })
/** Presses a button or a link by key. */
async function press(button: Locator): Promise<void> {
  await button.focus()
  await button.page().keyboard.press('Enter')
}
/** Where the demo's agents ask people. */
const places = { cto: 'release', cmo: 'announcement' }
/** Waits until an agent has said something in the session in which it asked. */
const said = (agent: keyof typeof places, words: string) =>
  expect
    .poll(async () =>
      JSON.stringify(await call(demo, 'GET', `/agentrt/sessions/agent:${agent}:dashboard:${places[agent]}/messages`)),
    )
    .toContain(words)
/** Returns whether nothing overflows the window or scrolls sideways. */
const fits = (page: Page) =>
  page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll('main, aside, [role=dialog]')].every(
      e => e.scrollWidth <= e.clientWidth,
    ),
  )

// An agent must never run a command on a wrong or lost answer.
describe('an approval', () => {
  it('is shown in the inbox, and allowed once in its session with the mouse, while its time runs down', async () => {
    const { context, page, complaints } = await opened(desktop, '/')
    await page.getByRole('region', { name: 'Status summary' }).getByRole('link', { name: '1 approval' }).click()
    await page.waitForURL('**/inbox?kind=approval**')
    await row(page, 'git push').locator('[data-item]').click()
    const card = page.getByRole('region', { name: 'Waiting for your answer' })
    await card.getByText('git push --force-with-lease origin release/2.4', { exact: true }).waitFor()
    await card.getByText('Rewrites the history of a remote branch').waitFor()
    const left = card.getByText(/^Expires in (29|28):\d\d$/)
    const before = await left.textContent()
    await expect.poll(() => left.textContent()).not.toBe(before)
    expect(await axeFaults(page)).toEqual([])
    await page.goto(`/sessions/agent:cto:dashboard:${places.cto}`)
    await card.getByText('git push --force-with-lease origin release/2.4', { exact: true }).waitFor()
    expect(await axeFaults(page)).toEqual([])
    await card.getByRole('button', { name: 'Allow once' }).click()
    await card.waitFor({ state: 'detached' })
    await said('cto', 'I pushed release/2.4.')
    expect(complaints).toEqual([])
    await context.close()
  })
})

// An agent must get the answers as they were given.
describe('a question', () => {
  it('is answered with several options, own words, and one option, with the mouse', async () => {
    const { context, page, complaints } = await opened(looks['dark desktop'], '/agents/cmo')
    const card = page.getByRole('region', { name: 'Waiting for your answer' })
    const channels = card.getByRole('group', { name: 'Where shall I announce version 2.4?' })
    await channels.getByRole('checkbox', { name: /^Blog/ }).check()
    await channels.getByRole('checkbox', { name: /^Newsletter/ }).check()
    await channels.getByLabel('Another answer').fill('The status page')
    const send = card.getByRole('button', { name: 'Send answer' })
    expect(await send.isDisabled()).toBe(true) // the second part has no answer yet
    await card
      .getByRole('group', { name: 'When?' })
      .getByRole('radio', { name: /^Tuesday/ })
      .check()
    expect(await axeFaults(page)).toEqual([])
    await send.click()
    await card.waitFor({ state: 'detached' })
    await said('cmo', "I'll announce version 2.4 here: Blog, Newsletter, The status page, Tuesday.")
    expect(complaints).toEqual([])
    await context.close()
  })
})

// People must be able to refuse and skip without a mouse.
describe('on a phone, by key,', () => {
  beforeAll(async () => {
    await demo.stop()
    await restartDemo(play)
  })

  it('an approval is denied', async () => {
    const { context, page, complaints } = await opened(phone, '/inbox?kind=approval')
    await press(row(page, 'git push').getByRole('button', { name: /^Review/ }))
    const dialog = page.getByRole('dialog', { name: 'Review' })
    await dialog.getByText('Expires in', { exact: false }).waitFor()
    expect(await axeFaults(page)).toEqual([])
    expect(await fits(page)).toBe(true)
    await press(dialog.getByRole('button', { name: 'Deny' }))
    await dialog.waitFor({ state: 'hidden' })
    await row(page, 'git push').waitFor({ state: 'detached' })
    await said('cto', 'because you denied it')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('a question is skipped', async () => {
    const { context, page, complaints } = await opened(looks['light phone'], '/inbox?kind=question')
    await press(row(page, 'Where shall').getByRole('button', { name: /^Answer/ }))
    const dialog = page.getByRole('dialog', { name: 'Answer' })
    await dialog.getByRole('radio', { name: /^Tuesday/ }).waitFor()
    expect(await axeFaults(page)).toEqual([])
    expect(await fits(page)).toBe(true)
    await press(dialog.getByRole('button', { name: 'Skip question' }))
    await dialog.waitFor({ state: 'hidden' })
    await said('cmo', 'because no one chose a channel')
    expect(complaints).toEqual([])
    await context.close()
  })
})

// A held agent must not run, and everyone must see why.
describe('an agent', () => {
  it('is held with a reason, with the mouse, and released by key on a phone', async () => {
    const { context, page, complaints } = await opened(desktop, '/agents/cpo')
    await page.getByRole('button', { name: 'Hold', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Hold CPO' })
    await dialog.getByText('The runtime can still start runs by itself.').waitFor()
    await dialog.getByRole('link', { name: 'Turn on full holds' }).click()
    await page.waitForURL('**/settings/gateway#holds')
    const holds = page.getByRole('region', { name: 'Holds' })
    await holds.getByRole('button', { name: 'Turn on full holds' }).click()
    const consent = page.getByRole('dialog', { name: 'Turn on full holds?' })
    await consent.getByLabel('Your password', { exact: true }).fill(demo.password)
    expect(await axeFaults(page)).toEqual([])
    await consent.getByRole('button', { name: 'Turn on full holds' }).click()
    await holds.getByText('On: a held agent can’t start.').waitFor()

    await page.goto('/agents/cpo')
    await page.getByRole('button', { name: 'Hold', exact: true }).click()
    expect(await dialog.getByRole('link').count()).toBe(0)
    await dialog.getByLabel('Reason').fill('It repeats itself')
    expect(await axeFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Hold CPO' }).click()
    const held = page.locator('[data-held]')
    await held.getByText('It repeats itself').waitFor()
    await held.getByText('The runtime refuses every run of the agent.').waitFor()
    await page.goto('/')
    await page.getByRole('region', { name: 'Status summary' }).getByText('1 held', { exact: false }).waitFor()
    await context.close()

    const small = await opened(phone, '/agents/cpo')
    const notice = small.page.locator('[data-held=held]')
    await notice.getByText('Held by').waitFor()
    expect(await axeFaults(small.page)).toEqual([])
    expect(await fits(small.page)).toBe(true)
    await press(notice.getByRole('button', { name: 'Release CPO' }))
    await notice.waitFor({ state: 'detached' })
    await small.page.getByRole('button', { name: 'Hold', exact: true }).waitFor()
    expect([...complaints, ...small.complaints]).toEqual([])
    await small.context.close()
  })
})

// A limit must say what it would have done, and its item must lead on.
describe('a limit', () => {
  it('is added with its back-test by key, is reached, and lets $2 more through', async () => {
    const { context, page, complaints } = await opened(looks['light phone'], '/spend?part=limits')
    await press(page.getByRole('button', { name: 'New limit' }))
    const dialog = page.getByRole('dialog', { name: 'New limit' })
    await dialog
      .getByRole('status')
      .getByText(/^Would have acted \d+ times? in the last 30 days\.$/)
      .waitFor()
    await dialog.getByLabel('Amount').fill('0.01')
    await dialog
      .getByRole('status')
      .getByText(/^Would have acted [1-9]\d* times in the last 30 days\.$/)
      .waitFor()
    expect(await axeFaults(page)).toEqual([])
    expect(await fits(page)).toBe(true)
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'hidden' })
    await page.getByRole('meter').or(page.getByRole('listitem')).first().waitFor()
    await context.close()

    await call(demo, 'POST', '/agents/cmo/messages', { text: 'How is the launch?' })
    const wide = await opened(looks['dark desktop'], '/inbox?kind=limit_reached')
    await row(wide.page, 'limit').first().locator('[data-item]').click()
    const item = wide.page.getByRole('complementary', { name: 'Inbox item' })
    const allow = item.getByRole('button', { name: /^Allow \$2 more/ })
    await allow.waitFor()
    expect(await axeFaults(wide.page)).toEqual([])
    await allow.click()
    await expect
      .poll(async () => ((await call(demo, 'GET', '/limits')) as { limits: { allowed: string }[] }).limits[0]?.allowed)
      .toBe('2.01')
    expect([...complaints, ...wide.complaints]).toEqual([])
    await wide.context.close()
  })
})

/** Returns the sessions of the runs that began after `begin` and that the ledger counts. */
const runsSince = async (begin: string): Promise<string[]> =>
  ((await call(demo, 'GET', '/usage/going')) as { runs: { session_key: string; started_at: string }[] }).runs
    .filter(r => r.started_at > begin)
    .map(r => r.session_key)

// People who see one run burn money must be able to end it at an amount, and then see that it was stopped.
describe('a run', () => {
  it('is limited on the page of its session, and is stopped by the limit', async () => {
    await demo.stop()
    const begin = new Date().toISOString()
    await restartDemo({ ...play, work: 8 }) // CPO is in a loop for minutes
    await expect.poll(() => runsSince(begin)).toContain('agent:cpo:dashboard:interviews')
    const { context, page, complaints } = await opened(desktop, '/sessions/agent:cpo:dashboard:interviews')
    const limit = page.getByRole('button', { name: 'Limit this run…' })
    await limit.click()
    const dialog = page.getByRole('dialog', { name: 'Limit this run' })
    expect(await dialog.getByRole('combobox', { name: 'Per' }).count()).toBe(0)
    await dialog.getByLabel('Amount').fill('0.000001')
    await dialog.getByText('The run has already used this much').waitFor()
    expect(await axeFaults(page)).toEqual([])
    expect(await fits(page)).toBe(true)
    await dialog.getByRole('button', { name: 'Create limit' }).click()
    await dialog.waitFor({ state: 'hidden' })
    // Rows that arrive while the list is open wait for a click.
    await expect
      .poll(async () => JSON.stringify(await call(demo, 'GET', '/inbox?kind=limit_reached')))
      .toContain('for run')
    await page.goto('/inbox?kind=limit_reached')
    await row(page, 'for run').locator('[data-item]').click()
    const item = page.getByRole('complementary', { name: 'Inbox item' })
    await item.getByRole('button', { name: /^Keep stopped/ }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})
