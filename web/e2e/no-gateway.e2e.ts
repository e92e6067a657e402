import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, type Look, sizes } from './browser.ts'
import { call } from './demo.ts'
import { demo, opened, setUp } from './fixture.ts'
import { openOwned } from './service.ts'

// A server with an owner, without a gateway.
setUp({ open: openOwned })

// An empty list must not look like good news.
describe.each(sizes)('without a gateway, %s', (_, look: Look) => {
  it('agents and schedules say that nobody can be asked, and where to mend it', async () => {
    const { context, page, complaints } = await opened(look, '/')
    await page.goto('/agents')
    await page.getByText('Can’t list agents').waitFor()
    await page.locator('main').getByText('No gateway.').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.goto('/schedules')
    await page.getByRole('heading', { name: 'No gateway connected' }).waitFor()
    await page.getByRole('link', { name: 'Connect gateway' }).waitFor()
    expect(await page.getByText('No scheduled jobs yet').count()).toBe(0)
    expect(await axeFaults(page)).toEqual([])
    expect(complaints.filter(c => !c.includes('503'))).toEqual([])
    await context.close()
  })

  it('Now leads back to the first steps, of which each says how it stands', async () => {
    const { context, page, complaints } = await opened(look, '/')
    const line = page.getByRole('complementary', { name: 'First steps' })
    await line.getByText('5 setup steps left').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await line.getByRole('link', { name: 'Connect the gateway' }).click()
    await page.waitForURL('**/welcome?step=connect')
    // Each other step needs the gateway: they are passed over, and lead back.
    await page.getByRole('button', { name: 'Skip this step' }).click()
    await page.waitForURL('**/welcome?step=end')
    await page.getByText('5 steps left:').waitFor()
    await expect.poll(() => page.locator('section li[data-standing=open]').count()).toBe(1)
    expect(await page.locator('section li[data-standing=waits]').count()).toBe(4)
    expect(await page.getByText('Setup is complete').count()).toBe(0)
    expect(await axeFaults(page)).toEqual([])
    for (const step of ['doctor', 'found', 'accounts', 'standup']) {
      await page.goto(`/welcome?step=${step}`)
      await page.getByText('This step opens once the gateway is connected.').waitFor()
      expect(await page.locator('section').getByText('To do').count(), step).toBe(0)
      expect(await axeFaults(page), step).toEqual([])
      await page.locator('section').getByRole('link', { name: 'Connect the gateway' }).click()
      await page.waitForURL('**/welcome?step=connect')
    }
    await page.getByRole('link', { name: 'Skip setup, open Wardroom' }).click()
    await page.waitForURL(`${demo.base}/`)
    await line.getByRole('button', { name: 'Hide this reminder' }).click()
    await line.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('heading', { name: 'Needs you' }).waitFor()
    await page.waitForTimeout(1000) // as long as the reminder would take to appear
    expect(await line.count()).toBe(0)
    expect(complaints.filter(c => !c.includes('503'))).toEqual([])
    await context.close()
  })
})

// Without a gateway, "Every agent has an account" and "offline" would be guesses.
describe('an agent with an account, without a gateway', () => {
  it('is Unknown wherever it is, and not all that there is', async () => {
    const coo = { email: 'coo@example.com', password: 'four random words are fine', role: 'agent', agent_id: 'coo' }
    await call(demo, 'POST', '/users', coo)
    const { context, page, complaints } = await opened(desktop, '/')
    for (const path of ['/', '/agents', '/agents/coo']) {
      await page.goto(path)
      await page.locator('main').getByText('Unknown', { exact: true }).first().waitFor()
      expect(await page.getByText(/offline/i).count(), path).toBe(0)
    }
    await page.goto('/welcome?step=accounts')
    await page.getByText('This step opens once the gateway is connected.').waitFor()
    expect(await page.getByText('Every agent').count()).toBe(0)
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints.filter(c => !c.includes('503'))).toEqual([])
    await context.close()
  })
})
