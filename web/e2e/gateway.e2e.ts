import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axeFaults } from './axe.ts'
import { desktop } from './browser.ts'
import { call, startDemo } from './demo.ts'
import { demo, opened, setUp } from './fixture.ts'
import { openProxy, type TcpProxy } from './proxy.ts'
import { gatewayOf, openOwned, type Service } from './service.ts'

setUp()

// The page must report an outage with its cause, and recover by itself.
describe('a gateway on a line of its own', () => {
  let proxy: TcpProxy
  let service: Service
  let token: string
  const settings = (of: Record<string, string> = {}) => ({
    AGENTRT_GATEWAY_URL: proxy.url,
    AGENTRT_GATEWAY_TOKEN: token,
    ...of,
  })
  const open = (path: string) => opened(desktop, path, service)
  const state = (page: Page, text: string) =>
    page.getByRole('region', { name: 'Connection' }).getByText(text, { exact: true })

  beforeAll(async () => {
    const found = await gatewayOf(demo)
    token = found.token
    proxy = await openProxy(found.url)
    service = await openOwned(settings())
  })
  afterAll(async () => {
    await service?.close()
    await proxy?.cut()
  })

  it('goes away and comes back, and the doctor names the layer', async () => {
    const { context, page, complaints } = await open('/settings/gateway')
    await state(page, 'Connected').waitFor()
    // What the environment sets can't be changed here, and the page says why.
    const access = page.getByRole('region', { name: 'Address and token' })
    await access.getByText('AGENTRT_GATEWAY_URL in').waitFor()
    expect(await access.getByRole('button').count()).toBe(0)
    await page.locator('#doctor [data-healthy=true]').waitFor({ timeout: 90_000 })

    await proxy.cut()
    const cutAt = Date.now()
    await state(page, 'Unreachable').waitFor()
    await page.getByRole('banner').getByText('Gateway offline').waitFor()
    expect(Date.now() - cutAt).toBeLessThan(20_000)
    await page.getByText('The connection changed after these checks.').waitFor()
    // The server caches a result for 10 s.
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Check again' }).click()
          await page.getByRole('button', { name: 'Check again', disabled: false }).waitFor()
          await page.waitForTimeout(500)
          return page.locator('[data-layer=tcp]').getAttribute('data-state')
        },
        { timeout: 60_000, interval: 2000 },
      )
      .toBe('failed')
    const failed = page.locator('[data-layer=tcp]')
    await failed.getByText('Cause:').waitFor()
    await failed.getByText('Fix:').waitFor()
    expect(await page.locator('[data-layer=auth]').getAttribute('data-state')).toBe('not_reached')
    expect(await axeFaults(page)).toEqual([])

    await proxy.restore()
    await state(page, 'Connected').waitFor()
    await page.getByRole('banner').getByText('Live', { exact: true }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is paired, has its device replaced, and is forgotten', async () => {
    const { context, page, complaints } = await open('/settings/gateway')
    const pairing = page.getByRole('region', { name: 'Pairing' })
    await pairing.getByText('Not needed: already connected').waitFor()
    // The page lists scopes that weren't requested, with their purpose.
    await pairing.getByText('operator.admin').first().waitFor()
    await pairing.getByRole('button', { name: 'Pair Wardroom' }).click()
    await pairing.getByText(/^(Paired|Accepted without approval)$/).waitFor()
    const device = pairing.locator('dd').first()
    const first = await device.textContent()
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    expect(await axeFaults(page)).toEqual([])

    await pairing.getByRole('button', { name: 'Replace device' }).click()
    expect(await axeFaults(page)).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Replace device' }).click()
    await expect.poll(() => device.textContent()).not.toBe(first)
    await pairing.getByText(`openclaw devices remove ${first}`).waitFor()

    await pairing.getByRole('button', { name: 'Forget device' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Forget device' }).click()
    await pairing.getByText('Not needed: already connected').waitFor()
    await pairing
      .getByText(/openclaw devices remove/)
      .first()
      .waitFor()
    expect(await axeFaults(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })

  it('that waits for an approval shows the command, and notices by itself', async () => {
    const { context, page, complaints } = await open('/settings/gateway')
    // The demo gateway approves at once, so the waiting state is mocked.
    const command = 'openclaw devices approve 2f105041-bcf7-4e68-9f8e-4bedb19ad04d'
    await page.route('**/api/v1/agentrt/pairing', async route => {
      const answer = await route.fetch()
      const is = (await answer.json()) as Record<string, unknown>
      const device = {
        device_id: 'ab'.repeat(32),
        public_key: 'key',
        fingerprint: `${'AB:'.repeat(31)}AB`,
        made_at: '2026-11-20T08:00:00.000Z',
        remove_command: 'openclaw devices remove x',
      }
      const request = { request_id: 'r', command, scopes: ['operator.read'], scopes_approved: [] }
      await route.fulfill({ response: answer, json: { ...is, state: 'pending', device, request } })
    })
    await page.goto('/settings/gateway')
    const pairing = page.getByRole('region', { name: 'Pairing' })
    await pairing.getByText('Waiting for approval', { exact: true }).waitFor()
    await pairing.getByText(command).waitFor()
    await pairing.getByText('within seconds of the approval', { exact: false }).waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.getByText('Live', { exact: true }).waitFor()
    await page.unroute('**/api/v1/agentrt/pairing')
    // Another admin's action arrives as an event, without a reload.
    await call(service, 'POST', '/agentrt/pairing')
    await pairing.getByText(/^(Paired|Accepted without approval)$/).waitFor()
    expect(await pairing.getByText(command).count()).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('that refuses the token is told by the doctor, without the token', async () => {
    await service.stop()
    service = await openOwned(settings({ AGENTRT_GATEWAY_TOKEN: 'a-token-that-is-wrong' }), service)
    const { context, page, complaints } = await open('/settings/gateway')
    const failed = page.locator('[data-layer=auth][data-state=failed]')
    await failed.waitFor({ timeout: 90_000 })
    expect(await page.content()).not.toContain('a-token-that-is-wrong')
    expect(await axeFaults(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the health', () => {
  it('says in words what is amiss when the service does not answer, and that it is over', async () => {
    const own = await startDemo()
    const { context, page } = await opened(desktop, '/settings/health', own)
    await page.getByText('All checks passed').waitFor()
    await own.stop()
    await page.locator('[data-health=stream]').getByText('Problem').waitFor()
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.locator('[data-health=process]').getByText('Not responding.', { exact: false }).waitFor()
    // Unknown must not show as broken.
    await page.locator('[data-health=database]').getByText('Unknown').first().waitFor()
    expect(await axeFaults(page)).toEqual([])
    const again = await startDemo({ again: own })
    await page.getByText('All checks passed').waitFor()
    await context.close()
    await again.close()
  })
})
