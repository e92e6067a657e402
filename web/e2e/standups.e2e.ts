import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, looks, phone, sizes } from './browser.ts'
import { call, startDemo } from './demo.ts'
import { demo, opened, restartDemo, setUp } from './fixture.ts'
import { type Held, hold } from './run-standup.ts'
import { openOwned } from './service.ts'

// The agents answer quickly, because most of these tests hold a standup or two.
setUp({ open: () => startDemo({ pace: 1 }) })

/** Each flow has its own team, because a team has one standup per day. */
const team = (key: string) =>
  call(demo, 'POST', '/teams', { key, name: `Team ${key}`, facilitator: 'coo', participants: ['cto', 'cpo', 'cmo'] })

const head = (page: Page) => page.locator('[data-head]')
const stands = (page: Page, word: string) => head(page).getByText(word, { exact: true }).waitFor()
const section = (page: Page, agent: string) => page.locator(`#of-${agent}`)
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })

/** Keeps an agent busy in its standup session, 1 s per message, so that it misses the timeout. */
async function occupy(agent: string, team: string, date: string, messages: number): Promise<void> {
  const key = encodeURIComponent(`agent:${agent}:standup:${date}:team-${team}`)
  for (let i = 0; i < messages; i++)
    await call(demo, 'POST', `/agentrt/sessions/${key}/messages`, { text: `And number ${i}?` })
}

/** Returns whether nothing overflows the window. */
const fitsIn = (page: Page) =>
  page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement
    return scrollWidth <= innerWidth && scrollHeight <= innerHeight
  })

describe.each(sizes)('standups, %s', (name, look) => {
  it('have no fault that axe knows: none yet, one that goes on, one that is over, a report to hand in', async () => {
    const key = `look-${name.replace(' ', '-')}`
    await team(key)
    const { context, page, complaints } = await opened(look, `/standups?team=${key}`)
    await page.getByRole('heading', { name: 'No standup yet' }).waitFor()
    expect(await axeFaults(page), 'none').toEqual([])
    await button(page, 'Open without running').click()
    await stands(page, 'Opened')
    expect(await axeFaults(page), 'opened').toEqual([])
    await button(page, /^Submit report/)
      .first()
      .click()
    await page.getByRole('dialog', { name: /^Report for/ }).waitFor()
    expect(await axeFaults(page), 'a report to hand in').toEqual([])
    await page.keyboard.press('Escape')
    await button(page, 'Run Standup').click()
    await stands(page, 'Running')
    expect(await axeFaults(page), 'going on').toEqual([])
    await stands(page, 'Completed')
    await page.reload()
    for (const [more, ready] of [
      ['', '#of-cmo'],
      ['&open=cto,cpo', '#of-cto section'],
      ['&part=transcript', 'main ol li p'],
      ['&day=2020-02-29', 'main h2'],
    ] as const) {
      await page.goto(`/standups?team=${key}${more}`)
      await page.locator(ready).first().waitFor()
      expect(await axeFaults(page), more).toEqual([])
      expect(await fitsIn(page), more).toBe(true)
    }
    expect(complaints).toEqual([])
    await page.goto('/standups/no-such-standup')
    await page.getByRole('alert').waitFor()
    expect(await axeFaults(page), 'none of that id').toEqual([])
    expect(complaints.filter(c => !/40[04]|422/.test(c))).toEqual([])
    await context.close()
  })
})

describe('a standup', () => {
  it('is run to its end with the pointer, while another one watches and is not moved', async () => {
    await team('mouse')
    const one = await opened(desktop, '/standups?team=mouse')
    const two = await opened(phone, '/standups?team=mouse')
    await two.page.getByText('Live', { exact: true }).waitFor({ state: 'attached' })
    await button(one.page, 'Run Standup').click()
    await one.page
      .getByRole('status')
      .getByText(/Waiting for C.O, \d of 3\./)
      .waitFor()
    await two.page
      .getByRole('status')
      .getByText(/Waiting for C.O, \d of 3\./)
      .waitFor()
    await section(two.page, 'cto').getByText('Answered').waitFor()

    // The reading position stays while content above it grows.
    const where = () => section(two.page, 'cto').evaluate(e => Math.round(e.getBoundingClientRect().top))
    await section(two.page, 'cto').evaluate(e => e.scrollIntoView({ block: 'start' }))
    await two.page.waitForTimeout(100)
    const before = await where()
    await stands(one.page, 'Completed')
    await two.page.locator('[data-head]').getByText('Completed', { exact: true }).waitFor()
    // Between a change and the next frame, the position is not corrected yet.
    await expect.poll(async () => Math.abs((await where()) - before)).toBeLessThanOrEqual(2)

    const page = one.page
    await section(page, 'cto').getByRole('heading', { name: 'Yesterday' }).waitFor()
    expect(await section(page, 'cpo').getByRole('heading').allTextContents()).toEqual([
      'CPO',
      'Yesterday',
      'Today',
      'Blockers',
      'Other',
    ])
    await page.getByRole('heading', { name: /^Needs a decision\s*\d/ }).waitFor()
    await page.locator('summary', { hasText: 'Why' }).first().click()
    await page.getByText("The team can't resolve this on its own").first().waitFor()
    await page.getByRole('button', { name: 'Decide: TASK-7' }).click()
    await page.getByRole('dialog', { name: 'Decide on TASK-7' }).getByLabel('Your decision').waitFor()
    await page.keyboard.press('Escape')
    expect(await button(page, 'Run Standup').count()).toBe(0)
    await section(page, 'cto')
      .getByRole('button', { name: /^Show activity/ })
      .click()
    await page.waitForURL('**open=cto**')
    await page.getByRole('region', { name: 'Activity of CTO' }).waitFor()
    await page.getByRole('tab', { name: /^Transcript/ }).click()
    await page.waitForURL('**part=transcript**')
    await page.getByText('The standup is completed.').waitFor()
    await page.goBack()
    expect([...one.complaints, ...two.complaints]).toEqual([])
    await one.context.close()
    await two.context.close()
  })

  it('is opened, reported to, run and held once more by keyboard', async () => {
    await team('keys')
    const { context, page, complaints } = await opened(desktop, '/')
    await page.keyboard.press('g')
    await page.keyboard.press('d')
    await page.waitForURL('**/standups')
    await page.goto('/standups?team=keys')
    const press = async (name: string | RegExp) => {
      await button(page, name).first().focus()
      await page.keyboard.press('Enter')
    }
    await press('Open without running')
    await stands(page, 'Opened')
    await press(/^Submit report.*CTO/)
    await page.getByRole('dialog', { name: 'Report for CTO' }).waitFor()
    await page.getByLabel('Yesterday').focus()
    await page.keyboard.type('Wrote it down **myself**')
    await press(/^Submit report$/)
    await section(page, 'cto').locator('strong', { hasText: 'myself' }).waitFor()
    await section(page, 'cto')
      .getByText(/submitted by/)
      .waitFor()
    await press('Run Standup')
    await page
      .getByRole('status')
      .getByText(/Waiting for C.O, [23] of 3\./)
      .waitFor()
    await stands(page, 'Completed')
    await page.keyboard.press('v')
    await page.getByText(/submitted the report of cto/).waitFor()
    await press('Actions for this standup')
    await page.getByRole('menuitem', { name: 'Run standup again' }).focus()
    await page.keyboard.press('Enter')
    await page
      .getByRole('dialog', { name: 'Run standup again' })
      .getByRole('button', { name: 'Run standup again' })
      .focus()
    await page.keyboard.press('Enter')
    await stands(page, 'Running')
    await page.getByText('Attempt 2', { exact: true }).waitFor()
    await stands(page, 'Completed')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is found by what was said in it', async () => {
    await team('found')
    const { id } = (await call(demo, 'POST', '/standups', { team: 'found' })) as Held
    await call(demo, 'PUT', `/standups/${id}/reports/cto`, { text: 'Today: I look into the zeppelins.' })
    const { context, page, complaints } = await opened(desktop, '/')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('zeppelins')
    const found = page.getByRole('option', { name: /Team found: standup, .*CTO/ })
    await found.waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await found.click()
    await page.waitForURL(`**/standups/${id}`)
    await section(page, 'cto').getByText('I look into the zeppelins.').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('marks the agent that does not answer in time, and goes on without it', async () => {
    await team('late')
    const { id, date } = await hold(demo, 'late')
    await call(demo, 'PATCH', '/teams/late', { agent_timeout: '12s' })
    await occupy('cmo', 'late', date, 50)
    await call(demo, 'POST', `/standups/${id}/run`, { again: true })
    const { context, page, complaints } = await opened(desktop, `/standups/${id}`)
    await stands(page, 'Completed')
    await section(page, 'cmo').getByText('[Timeout]', { exact: true }).waitFor()
    await section(page, 'cto').getByText('Answered').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.getByRole('tab', { name: /^Transcript/ }).click()
    await page.getByText(/No answer within 12s/).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })

  it('that failed is retried, and asks for what is missing', async () => {
    await team('hasty')
    const { id, date } = await hold(demo, 'hasty')
    await call(demo, 'PATCH', '/teams/hasty', { agent_timeout: '1s' })
    for (const agent of ['cto', 'cpo', 'cmo']) await occupy(agent, 'hasty', date, 10)
    await call(demo, 'POST', `/standups/${id}/run`, { again: true })
    const { context, page, complaints } = await opened(desktop, '/standups?team=hasty')
    await stands(page, 'Failed')
    await page.getByText('agents_timed_out').first().waitFor()
    await expect.poll(() => section(page, 'cto').getByText('[Timeout]', { exact: true }).count()).toBe(1)
    expect(await axeFaultsPassing(page)).toEqual([])
    await call(demo, 'PATCH', '/teams/hasty', { agent_timeout: null })
    await button(page, 'Retry').click()
    await stands(page, 'Completed')
    await page.getByRole('tab', { name: /^Transcript/ }).click()
    await page.getByText('Attempt 3', { exact: true }).waitFor()
    // The three participants and the facilitator, all of which had been asked before.
    const retried = page.locator('li:has-text("Attempt 3"), li:has-text("Attempt 3") ~ li')
    await expect.poll(() => retried.getByText('Asked again', { exact: true }).count()).toBe(4)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is cancelled, keeps what was said, and can be retried', async () => {
    await team('stopped')
    const { context, page, complaints } = await opened(looks['dark desktop'], '/standups?team=stopped')
    await button(page, 'Run Standup').click()
    await section(page, 'cto').getByText('Answered').waitFor()
    await button(page, 'Cancel standup').click()
    await stands(page, 'Canceled')
    await button(page, 'Retry').waitFor()
    await section(page, 'cto').getByText('Answered').waitFor()
    await page.getByText('The reports received so far are kept. Retry asks only for the missing ones.').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the days', () => {
  it('are a strip to go by, each with its state, and today is compared with the day before', async () => {
    await team('days')
    const day = (back: number) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10)
    await hold(demo, 'days', day(3))
    const { context, page, complaints } = await opened(desktop, '/standups?team=days')
    // Shows the latest standup, with a note that there is none today.
    await page.getByText(/No standup yet today/).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await button(page, 'Run Standup').click()
    await stands(page, 'Running')
    await stands(page, 'Completed')
    await page.getByRole('link', { name: /^Compared with/ }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    const days = page.getByRole('navigation', { name: 'Days' })
    await expect.poll(() => days.getByRole('link').count()).toBe(2)
    await page.keyboard.press('j')
    await page.waitForURL(`**day=${day(3)}**`)
    await page.getByText('This is the first standup.').waitFor()
    await page.keyboard.press('k')
    await page.waitForURL(`**day=${day(0)}**`)
    await days.getByRole('link').first().click()
    await page.waitForURL(`**day=${day(3)}**`)
    await button(page, 'Earlier days').click()
    await page.waitForURL('**until=**')
    await page.getByText('Not scheduled yet.').waitFor()
    await call(demo, 'POST', '/standups/schedule', { team: 'days', expr: '0 9 * * *' })
    await page.getByText(/^Next start in/).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Agents' answers must never run as markup.
describe('hostile answers', () => {
  it('are shown as they are, on the page and in the transcript', async () => {
    const hostile =
      '<img src=x onerror="document.title=1"><script>document.title=2</script> \u202Egnp.exe [x](javascript:document.title=3) ![i](https://elsewhere.example/p.png)'
    await team('hostile')
    const { id } = (await call(demo, 'POST', '/standups', {
      team: 'hostile',
      title: '<b onclick=alert(1)>not bold</b>',
    })) as Held
    const long = { yesterday: hostile, today: `${'x'.repeat(10_000)}`, blockers: `- ${hostile}\n- second` }
    await call(demo, 'PUT', `/standups/${id}/reports/cto`, long)
    await call(demo, 'PUT', `/standups/${id}/reports/cpo`, {
      text: `${hostile}\n\n## Today\n${'long '.repeat(20_000)}`,
    })
    await call(demo, 'POST', `/standups/${id}/run`)
    const { context, page, complaints } = await opened(looks['light phone'], `/standups/${id}`)
    await stands(page, 'Completed')
    for (const part of ['reports', 'transcript']) {
      await page.goto(`/standups/${id}?part=${part}`)
      await page.getByText('gnp.exe').first().waitFor()
      expect(await page.locator('main img, main script, main [onerror], main [onclick]').count()).toBe(0)
      expect(await page.locator('main a[href^="javascript"]').count()).toBe(0)
      expect(await page.title()).toMatch(/· Standups · Wardroom$/)
      expect(await fitsIn(page)).toBe(true)
      expect(await axeFaultsPassing(page), part).toEqual([])
    }
    await page.goto(`/standups/${id}`)
    await section(page, 'cto')
      .getByRole('button', { name: /^Show all 10,000/ })
      .click()
    expect(complaints).toEqual([])
    await context.close()
  })
})

// The printout must contain all texts and no controls.
describe('a standup on paper', () => {
  it('is black on white, without the rail and without buttons, and all of it', async () => {
    await team('paper')
    const { id } = await hold(demo, 'paper')
    const { context, page, complaints } = await opened(looks['dark desktop'], `/standups/${id}`)
    await section(page, 'cmo').waitFor()
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('nav:visible, header:visible, button:visible, aside:visible').count()).toBe(0)
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(255, 255, 255)')
    expect(await section(page, 'cmo').evaluate(e => getComputedStyle(e).color)).toBe('rgb(0, 0, 0)')
    // The print is as long as the content, not as high as the window.
    const bottom = await section(page, 'cmo').evaluate(e => e.getBoundingClientRect().bottom + scrollY)
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeGreaterThanOrEqual(Math.floor(bottom))
    expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(5000)
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('somebody who may not run one', () => {
  it('is told who may, and reads what the others read', async () => {
    await team('watched')
    const { id } = await hold(demo, 'watched')
    const reader = { email: 'reader@wardroom.demo', password: 'four random words are good' }
    await call(demo, 'POST', '/users', { ...reader, name: 'Reader', role: 'user' })
    const { context, page, complaints } = await opened(desktop, '/standups', { ...demo, ...reader })
    await page.getByText('Only the owner, admins, and agents can run a standup.').waitFor()
    expect(await button(page, 'Run Standup').count()).toBe(0)
    await page.goto(`/standups/${id}`)
    await section(page, 'cto').getByText('Answered').waitFor()
    await button(page, 'Actions for this standup').click()
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Print standup', 'Copy transcript'])
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Events during a disconnect must not be lost.
describe('a line that breaks', () => {
  it('leaves what was known, and brings what was missed', async () => {
    await team('broken')
    const { context, page } = await opened(desktop, '/standups?team=broken')
    const mark = page.getByRole('banner')
    await mark.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('heading', { name: 'No standup yet' }).waitFor()
    await demo.stop()
    await mark.getByText(/Stale|Offline/).waitFor()
    await restartDemo()
    await hold(demo, 'broken')
    await stands(page, 'Completed')
    await section(page, 'cmo').getByText('Answered').waitFor()
    await context.close()
  })
})

// Without a gateway, the page must say what to do.
describe('without a gateway', () => {
  it('a standup cannot be run, and the page says why and where to go', async () => {
    const away = await openOwned()
    const { context, page, complaints } = await opened(phone, '/standups', away)
    await page.getByText('Can’t run a standup: no gateway configured.').waitFor()
    // The default setting names agents, but that doesn't make them exist.
    await page.getByRole('heading', { name: 'No standups or agents yet' }).waitFor()
    expect(
      await page
        .locator('main')
        .getByText(/CTO|CPO|CMO/i)
        .count(),
    ).toBe(0)
    expect(await button(page, 'Run Standup').count()).toBe(0)
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.getByRole('link', { name: 'Connect gateway' }).click()
    await page.waitForURL('**/welcome?step=connect')

    // Participants with an account are known, and reports can be submitted for them.
    const cto = { email: 'cto@example.com', password: 'four random words are fine', role: 'agent', agent_id: 'cto' }
    await call(away, 'POST', '/users', cto)
    await page.goto('/standups')
    await page.getByText('Participants: cto').waitFor()
    expect(
      await page
        .locator('main')
        .getByText(/CPO|CMO/i)
        .count(),
    ).toBe(0)
    expect(await button(page, 'Run Standup').isDisabled()).toBe(true)
    expect(await axeFaultsPassing(page)).toEqual([])
    await button(page, 'Open without running').click()
    await stands(page, 'Opened')
    await page.getByText('No gateway configured, so no job starts the standup.').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await page.getByRole('link', { name: 'Open gateway settings' }).click()
    await page.waitForURL('**/settings/gateway')
    await context.close()
    await away.close()
  })
})
