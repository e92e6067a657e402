import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, looks, sizes } from './browser.ts'
import { call } from './demo.ts'
import { demo, opened, setUp } from './fixture.ts'

setUp()

describe.each(sizes)('agents, %s', (_, look) => {
  it('have no fault that axe knows: all, one of them, and one that there is not', async () => {
    const { context, page, complaints } = await opened(look, '/agents')
    for (const [path, ready] of [
      ['/agents', 'main dl'],
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
    const lead = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'COO' }) })
    await lead.getByText('Facilitator', { exact: true }).waitFor()
    expect(await lead.locator('[data-face=coo]').textContent()).toBe('CO')
    if (look.width >= 600) await lead.getByRole('img', { name: /^Cost by day\. / }).waitFor()
    // Four agents need no filter.
    expect(await page.getByRole('searchbox', { name: 'Filter by name' }).count()).toBe(0)
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
    expect(await axeFaultsPassing(page)).toEqual([])

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
    expect(complaints).toEqual([])
    await context.close()
  })

  // Presence must be current.
  it('is shown at work while it works, without a reload', async () => {
    const { context, page, complaints } = await opened(desktop, '/agents/cto')
    const now = page.getByRole('region', { name: 'Working on' })
    await page.getByRole('heading', { name: 'CTO' }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    const task = (await call(demo, 'POST', '/tasks', { title: 'Look at the search', assignee_id: 'cto' })) as {
      key: string
    }
    await page.getByRole('region', { name: 'Tasks' }).getByText('Look at the search').waitFor()
    await call(demo, 'POST', `/tasks/${task.key}/dispatch`)
    await now.getByRole('link', { name: 'Look at the search' }).waitFor()
    await now.getByText(task.key, { exact: true }).waitFor()
    // The tooltip has the session key.
    const run = now.getByRole('link', { name: 'Open run' }).first()
    expect(await run.getAttribute('title')).toMatch(new RegExp(`^agent:cto:task:${task.key}$`, 'i'))
    await page.getByText('Active').first().waitFor()
    await expect.poll(() => now.count()).toBe(0)
    const last = page.getByRole('region', { name: 'Last result' })
    await last.getByRole('link', { name: 'Look at the search' }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('has its run stopped, after a question', async () => {
    const task = (await call(demo, 'POST', '/tasks', { title: 'Ask the pilots', assignee_id: 'cpo' })) as {
      key: string
    }
    await call(demo, 'POST', `/tasks/${task.key}/dispatch`)
    const key = encodeURIComponent(`agent:cpo:task:${task.key.toLowerCase()}`)
    await expect.poll(() => call(demo, 'GET', `/agentrt/sessions/${key}`).then(Boolean, () => false)).toBe(true)
    const { context, page, complaints } = await opened(desktop, '/agents/cpo')
    // Keeps the agent working for a minute, because the dialog opens slowly on a busy machine.
    for (let i = 0; i < 24; i++) await call(demo, 'POST', `/agentrt/sessions/${key}/messages`, { text: `And ${i}?` })
    await page
      .getByRole('button', { name: /^Stop run/ })
      .first()
      .click()
    const question = page.getByRole('dialog', { name: 'Stop this session?' })
    expect(await axeFaultsPassing(page)).toEqual([])
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

  it('is found by keyboard, and leads to its tasks and failures', async () => {
    const { context, page, complaints } = await opened(looks['dark desktop'], '/agents')
    await page.getByRole('heading', { name: 'COO' }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    await page.keyboard.press('j')
    await page.keyboard.press('o')
    await page.waitForURL(/\/agents\/cto$/)
    await page.getByRole('region', { name: 'Spend' }).getByText('Last 30 days').waitFor()
    // Ten equal rows of a job would push everything else off the page.
    const rows = page.getByRole('region', { name: 'Latest sessions' }).getByRole('listitem')
    await expect.poll(() => rows.filter({ hasText: 'Check the error rate' }).count()).toBe(1)
    expect(
      await rows
        .filter({ hasText: 'Check the error rate' })
        .getByText(/^\d+ earlier$/)
        .count(),
    ).toBe(1)
    await page.getByRole('link', { name: 'All agents' }).click()
    await page.waitForURL('**/agents')
    const card = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'CTO' }) })
    await card.getByText(/^\d+ of \d+ succeeded$/).waitFor()
    await card.getByRole('link', { name: /^\d+ failed$/ }).click()
    await page.waitForURL(/\/agents\/cto#failures$/)
    const failed = page.getByRole('region', { name: 'Runs, last 7 days' })
    await failed.getByRole('link', { name: 'Check the backup' }).waitFor()
    await expect.poll(() => failed.evaluate(e => e.getBoundingClientRect().bottom <= innerHeight)).toBe(true)
    await page.goBack()
    await card.getByRole('link', { name: /to do$/ }).click()
    await page.waitForURL('**/tasks?assignee=cto&status=todo')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('gets a new task from its page', async () => {
    const { context, page, complaints } = await opened(desktop, '/agents/cmo')
    await page.getByRole('link', { name: 'New task' }).click()
    const form = page.getByRole('dialog', { name: 'New task' })
    await form.getByLabel('Assigned to').filter({ hasText: 'CMO' }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is found by name among forty', async () => {
    const { context, page, complaints } = await opened(desktop, '/')
    await page.route('**/api/v1/agents?summary=true', async route => {
      const response = await route.fetch()
      const four = (await response.json()) as { agent_id: string; name: string }[]
      const forty = Array.from({ length: 10 }, (_, i) =>
        four.map(a => (i === 0 ? a : { ...a, agent_id: `${a.agent_id}-${i}`, name: `${a.name} ${i}` })),
      )
      await route.fulfill({ response, json: forty.flat() })
    })
    await page.goto('/agents')
    await expect.poll(() => page.locator('main h3').count()).toBe(40)
    const filter = page.getByRole('searchbox', { name: 'Filter by name' })
    await filter.fill('cpo 7')
    await page.waitForURL('**/agents?q=cpo+7')
    expect(await page.locator('main h3').allTextContents()).toEqual(['CPO 7'])
    expect(await axeFaultsPassing(page)).toEqual([])
    await filter.fill('nobody')
    await page.getByRole('button', { name: 'Clear filter' }).click()
    await expect.poll(() => page.locator('main h3').count()).toBe(40)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// In the demo, agents have no tools from MCP servers, so the test of the connection must say that.
describe('the connection of an agent', () => {
  it('is set up in a dialog that shows the key once and says which step fails', async () => {
    const { context, page, complaints } = await opened(desktop, '/agents/cpo')
    await page.locator('main header').getByRole('link', { name: 'Connect' }).click()
    const dialog = page.getByRole('dialog', { name: 'Connect CPO' })
    await dialog.getByText('"wr-cpo"').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Create another key' }).click()
    await dialog.getByText(/^WARDROOM_KEY_CPO=wrk_[a-z2-7]{40}$/).waitFor()
    await dialog.getByRole('button', { name: 'I saved the key' }).click()
    await dialog.getByRole('button', { name: 'Create another key' }).waitFor()
    expect(await page.content()).not.toMatch(/wrk_[a-z2-7]{40}/)

    await dialog.getByRole('button', { name: 'Test connection' }).click()
    await dialog.locator('[data-step=tools][data-state=failed]').getByText('start', { exact: false }).first().waitFor()
    expect(await dialog.locator('[data-connected=false] [data-state=not_reached]').count()).toBe(2)
    expect(await axeFaults(page)).toEqual([])

    await page.route('**/agents/cpo/tools/check', route => {
      const steps = ['key', 'turn', 'tools', 'own', 'whoami'].map(step => ({ step, state: 'ok', saw: '', fix: '' }))
      return route.fulfill({ json: { connected: true, session_key: 'agent:cpo:tools-check:1', steps } })
    })
    await dialog.getByRole('button', { name: 'Test connection' }).click()
    await dialog.getByText('CPO is connected').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.waitForURL('**/agents/cpo')
    await page.getByText('Not connected').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})
