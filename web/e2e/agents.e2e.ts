import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsNightly } from './axe.ts'
import { desktop, isWhole, looks, sizes } from './browser.ts'
import { call } from './demo.ts'
import { demo, opened, setUp } from './fixture.ts'

setUp()

describe.each(sizes)('agents, %s', (_, look) => {
  it('have no fault that axe knows: table, tree, one of them, and one that there is not', async () => {
    const { context, page, complaints } = await opened(look, '/agents')
    for (const [path, ready] of [
      ['/agents', '[role=row] button'],
      ['/agents?view=tree', 'main li a'],
      ['/agents/cto', 'main h3'],
      ['/agents/nobody', 'main h2'],
    ] as const) {
      await page.goto(path)
      await page.locator(ready).first().waitFor()
      expect(await axeFaults(page), path).toEqual([])
      // Only scroll regions may be wider than the window.
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), path).toBe(true)
    }
    await page.goto('/agents')
    // The facilitator isn't asked in standups, but must be labeled.
    const lead = page.getByRole('row', { name: /coo/ })
    await lead.getByText('Facilitator').waitFor()
    expect(await lead.locator('[data-face=coo]').textContent()).toBe('CO')
    if (look.width < 600) {
      expect(await isWhole(page, 'Agents')).toBe(true)
      await lead.getByText('Working on').waitFor()
    }
    expect(complaints.filter(c => !c.includes('404'))).toEqual([])
    await context.close()
  })
})

describe('an agent', () => {
  it('without a session is messaged from its page, from the list, and by the palette', async () => {
    const { context, page, complaints } = await opened(desktop, '/agents/cmo')
    await page.getByRole('link', { name: 'Message CMO' }).click()
    await page.waitForURL('**/sessions/agent:cmo:main')
    const field = page.getByRole('textbox', { name: 'Message CMO' })
    await expect.poll(() => field.evaluate(e => e === document.activeElement)).toBe(true)
    expect(await axeFaultsNightly(page)).toEqual([])
    await page.keyboard.type('What is new?')
    await page.keyboard.press('Control+Enter')
    const said = page.locator('section[aria-label="Transcript"]')
    await said.getByText('What is new?').waitFor()
    await said.getByText('Read', { exact: true }).waitFor()
    await expect.poll(() => said.locator('[data-index]').count(), { timeout: 30_000 }).toBeGreaterThan(1)

    await page.goto('/agents')
    await page.getByRole('link', { name: 'Message CPO' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('message cp')
    await page.getByRole('option', { name: 'Message CPO' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/sessions/agent:cpo:main')
    const other = page.getByRole('textbox', { name: 'Message CPO' })
    await expect.poll(() => other.evaluate(e => e === document.activeElement)).toBe(true)

    // The field keeps focus and text while the page loads and looks for the session again.
    await page.goto('/sessions/agent:cpo:main?compose=1')
    await page.waitForURL('**/sessions/agent:cpo:main')
    await page.keyboard.type('Half a')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.waitForTimeout(500)
    await page.keyboard.type(' sentence')
    expect(await other.inputValue()).toBe('Half a sentence')
    expect(complaints.filter(c => !c.includes('404'))).toEqual([])
    await context.close()
  })

  // Presence must be current.
  it('is shown at work while it works, without a reload', async () => {
    const { context, page, complaints } = await opened(desktop, '/agents/cto')
    const now = page.getByRole('region', { name: 'Working on' })
    await now.waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    const task = (await call(demo, 'POST', '/tasks', { title: 'Look at the search', assignee_id: 'cto' })) as {
      key: string
    }
    await page.getByRole('region', { name: 'Tasks' }).getByText('Look at the search').waitFor()
    await call(demo, 'POST', `/tasks/${task.key}/dispatch`)
    const run = now.getByRole('link', { name: `${task.key} Look at the search` })
    await run.waitFor()
    // The tooltip has the session key.
    expect(await run.getAttribute('title')).toMatch(new RegExp(`^agent:cto:task:${task.key}$`, 'i'))
    await page.getByText('Active').first().waitFor()
    await expect.poll(() => run.count(), { timeout: 60_000 }).toBe(0)
    const sessions = page.getByRole('region', { name: 'Sessions in the runtime' })
    await sessions.getByText(new RegExp(task.key, 'i')).first().waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('has its run stopped, after a question', async () => {
    const task = (await call(demo, 'POST', '/tasks', { title: 'Ask the pilots', assignee_id: 'cpo' })) as {
      key: string
    }
    await call(demo, 'POST', `/tasks/${task.key}/dispatch`)
    const key = encodeURIComponent(`agent:cpo:task:${task.key.toLowerCase()}`)
    await expect
      .poll(() => call(demo, 'GET', `/agentrt/sessions/${key}`).then(Boolean, () => false), { timeout: 20_000 })
      .toBe(true)
    const { context, page, complaints } = await opened(desktop, '/agents/cpo')
    // Keeps the agent working for a minute, because the dialog opens slowly on a busy machine.
    for (let i = 0; i < 24; i++) await call(demo, 'POST', `/agentrt/sessions/${key}/messages`, { text: `And ${i}?` })
    await page
      .getByRole('button', { name: /^Stop run/ })
      .first()
      .click()
    const question = page.getByRole('dialog', { name: 'Stop this session?' })
    expect(await axeFaultsNightly(page)).toEqual([])
    await question.getByRole('button', { name: 'Cancel' }).click()
    await question.waitFor({ state: 'hidden' })
    await expect.poll(() => page.getByRole('button', { name: /^Stop run/ }).count()).toBeGreaterThan(0)
    await page
      .getByRole('button', { name: /^Stop run/ })
      .first()
      .click()
    await question.getByRole('button', { name: 'Stop session', exact: true }).click()
    await page
      .getByText(/runs? stopped/)
      .first()
      .waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is found by keyboard, in the table and under those to whom it reports', async () => {
    const { context, page, complaints } = await opened(looks['dark desktop'], '/agents')
    await page.locator('[role=row] button').first().waitFor()
    await page.keyboard.press('v')
    await page.waitForURL('**/agents?view=tree')
    const team = page.locator('section', { has: page.getByText('Facilitator', { exact: true }) })
    await team.getByRole('link', { name: /CTO/ }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    await page.keyboard.press('o')
    // The facilitator comes first.
    await page.waitForURL(/\/agents\/coo$/)
    await page.goBack()
    await team.waitFor()
    await page.keyboard.press('v')
    await page.waitForURL('**/agents?view=table')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('o')
    await page.waitForURL(/\/agents\/\w+$/)
    await page.getByRole('region', { name: 'Spend' }).getByText('Last 30 days').waitFor()
    await page.getByRole('link', { name: 'All agents' }).click()
    await page.waitForURL('**/agents')
    expect(complaints).toEqual([])
    await context.close()
  })
})
