import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axeFaults } from './axe.ts'
import { desktop, looks, openBrowser, openPage } from './browser.ts'
import { type Demo, startDemo } from './demo.ts'
import { openProxy, type TcpProxy } from './proxy.ts'
import { gatewayOf, openService, type Service } from './service.ts'

let browser: Browser
let gateway: Demo
let proxy: TcpProxy
let service: Service
let token: string

// A server without an owner, and a gateway to which it isn't connected yet.
beforeAll(async () => {
  browser = await openBrowser()
  gateway = await startDemo()
  const found = await gatewayOf(gateway)
  token = found.token
  proxy = await openProxy(found.url)
  service = await openService({ AGENTRT_GATEWAY_SCOPES: 'operator.read,operator.write,operator.admin' })
})
afterAll(async () => {
  await browser?.close()
  await service?.close()
  await proxy?.cut()
  await gateway?.close()
})

describe('the first run', () => {
  it('goes from nothing to a team that reports, and loses nothing on the way', async () => {
    const { context, page, complaints } = await openPage(browser, service.base, desktop)
    const heading = (name: string) => page.getByRole('heading', { name, exact: true, level: 3 })
    const next = (name: string) => page.getByRole('button', { name, exact: true }).click()
    await page.goto(service.link)
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password', { exact: true }).fill('four random words are good')
    await page.getByRole('button', { name: 'Create owner account' }).click()

    // No gateway is configured: the page connects one, without a restart.
    await page.waitForURL('**/welcome?step=connect')
    await page.getByText('Live', { exact: true }).or(page.getByText('No gateway')).first().waitFor()
    await page.getByLabel('Address').fill(proxy.url)
    await page.getByLabel('Token', { exact: true }).fill('a-token-that-is-wrong')
    await page.getByLabel('Your password', { exact: true }).fill('four random words are good')
    await next('Test connection')
    await page.getByText('The gateway rejected the shared token.').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.getByLabel('Token', { exact: true }).fill(token)
    await page.getByText('The gateway rejected').waitFor({ state: 'detached' })
    await next('Test connection')
    await page.getByText('Connection works').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.keyboard.press('Tab') // from Test connection to Save and connect
    await page.keyboard.press('Enter')
    await page.locator('main').getByText('Connected', { exact: true }).first().waitFor()
    expect(await axeFaults(page)).toEqual([])
    await next('Continue')

    // All checks run, from the bottom layer up.
    await heading('Check the connection').waitFor()
    await page.locator('[data-layer=events][data-state=ok]').waitFor({ timeout: 90_000 })
    expect(await page.locator('[data-layer]').evaluateAll(rows => rows.map(r => r.getAttribute('data-layer')))).toEqual(
      'dns tcp tls http upgrade challenge auth pairing scopes protocol methods events'.split(' '),
    )
    expect(await axeFaults(page)).toEqual([])
    await page.reload()
    await heading('Check the connection').waitFor()
    await page.locator('[data-layer=events][data-state=ok]').waitFor({ timeout: 90_000 })
    await next('Continue')

    await heading('Review the runtime').waitFor()
    await page.getByText(/^\d+ agents$/).waitFor()
    await page
      .getByText(/sessions?$/)
      .first()
      .waitFor()
    await page
      .getByText(/scheduled jobs?$/)
      .first()
      .waitFor()
    expect(await axeFaults(page)).toEqual([])
    await next('Continue')

    // A skipped step stays open and can be revisited.
    await heading('Create agent accounts').waitFor()
    await page.getByText(/^\d+ of \d+ agents have no account$/).waitFor()
    await next('Skip this step')
    await heading('Schedule daily standup').waitFor()
    await next('Back')
    expect(await axeFaults(page)).toEqual([])
    await page.getByRole('button', { name: /^Create \d+ accounts$/ }).click()
    await page.getByText('Has an account').nth(3).waitFor()
    expect(await axeFaults(page)).toEqual([])
    await next('Continue')

    await heading('Schedule daily standup').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.getByLabel('Time', { exact: true }).fill('08:30')
    await page.getByRole('button', { name: 'Schedule standup' }).click()
    await page.getByText('Job created').waitFor()
    await page.getByText(/Next run: .*08:30/).waitFor()
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText(/^WARDROOM_API_KEY=wrk_/).waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.reload()
    await page.getByRole('button', { name: 'Create key' }).waitFor()
    expect(await page.getByText(/wrk_/).count()).toBe(0)
    await next('Continue')

    await heading('Summary').waitFor()
    await page.getByText('Setup is complete').waitFor()
    await expect.poll(() => page.locator('section li[data-standing=done]').count()).toBe(5)
    const offer = page.getByRole('button', { name: /^Warn at \$\d+ a day and \$\d+ a run$/ })
    await offer.waitFor()
    expect(await axeFaults(page)).toEqual([])
    await offer.click()
    await offer.waitFor({ state: 'detached' })
    expect(await page.evaluate(() => Object.keys(localStorage).sort())).toEqual(['wardroom.token'])
    await page.getByRole('link', { name: 'Go to the Now page' }).click()
    await page.waitForURL(`${service.base}/`)
    await page
      .getByText(/agents? active/)
      .first()
      .waitFor()
    await page.waitForTimeout(1000) // as long as the reminder would take to appear
    expect(await page.getByRole('complementary', { name: 'First steps' }).count()).toBe(0)
    // The runtime's sessions are about tasks of another board.
    expect(complaints.filter(c => !/status of 404 .* \/api\/v1\/tasks\/TASK-\d+$/.test(c))).toEqual([])

    for (const look of ['dark desktop', 'light phone', 'dark phone'] as const) {
      const { theme, width, height } = looks[look]
      await page.emulateMedia({ colorScheme: theme })
      await page.setViewportSize({ width, height })
      for (const step of ['connect', 'doctor', 'found', 'accounts', 'standup', 'end']) {
        await page.goto(`/welcome?step=${step}`)
        await page.locator('section h3').first().waitFor()
        expect(await axeFaults(page), `${look} ${step}`).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
      }
    }

    // Settings show the address and change it in place, but the token only as set.
    await page.goto('/settings/gateway')
    const access = page.getByRole('region', { name: 'Address and token' })
    await access.getByText(proxy.url).waitFor()
    expect(await page.content()).not.toContain(token)
    await access.getByRole('button', { name: 'Edit' }).click()
    await access.getByLabel('Address').fill('ws://127.0.0.1:1')
    await access.getByText('It is never sent to another address.').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await access.getByRole('button', { name: 'Cancel' }).click()
    await access.getByRole('button', { name: 'Remove gateway' }).click()
    await page.getByRole('dialog').getByLabel('Your password', { exact: true }).fill('four random words are good')
    await page.getByRole('dialog').getByRole('button', { name: 'Remove gateway' }).click()
    await page.getByRole('region', { name: 'Connect an OpenClaw gateway' }).getByLabel('Address').waitFor()
    await page.getByRole('region', { name: 'Connection' }).getByText('Not configured').waitFor()
    await context.close()
  })

  it('is only for those who may', async () => {
    const { context, page } = await openPage(browser, gateway.base, desktop)
    await page.goto('/welcome')
    await page.getByLabel('Email').fill('cto@wardroom.demo')
    await page.getByLabel('Password', { exact: true }).fill(gateway.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Your role doesn’t allow this' }).waitFor()
    expect(await axeFaults(page)).toEqual([])
    await context.close()
  })
})
