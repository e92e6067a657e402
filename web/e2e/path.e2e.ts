import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { desktop, entered, openBrowser, openPage, signIn } from './browser.ts'
import { call } from './demo.ts'
import { documented, openRealProxy, type Program } from './real-proxy.ts'
import { openOwned, openService } from './service.ts'

let browser: Awaited<ReturnType<typeof openBrowser>>
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())

// Many proxies serve several programs below one host name, each below its own path.
const heading = 'Serve it below a path'

// The documented configurations, in their order.
const ways: [Program, string, number][] = [
  ['nginx', 'keeps it', 0],
  ['nginx', 'removes it', 1],
  ['caddy', 'keeps it', 0],
]

describe.each(ways)('below a path, behind %s that %s', (program, _, nth) => {
  it('everything works: sign-in, pages, links, reloads, live updates, sign-out', async () => {
    const proxy = await openRealProxy(program)
    const below = `${proxy.url}/wardroom`
    const service = await openOwned({ PUBLIC_URL: below })
    await proxy.serve((await documented(program, heading, service.base))[nth] ?? '')
    const { context, page, complaints } = await openPage(browser, proxy.url, desktop)
    const lost: string[] = []
    context.on('request', r => {
      if (!r.url().startsWith(`${below}/`) && r.url() !== below) lost.push(r.url())
    })
    try {
      await page.goto(below)
      await signIn(page, service)
      await page.waitForURL(url => url.pathname.replace(/\/$/, '') === '/wardroom')
      const live = page.getByRole('banner').getByText(/^(Live|No gateway)$/)
      await live.waitFor()
      for (const place of ['Inbox', 'Tasks', 'Agents', 'Sessions', 'Standups', 'Schedules', 'Spend', 'Settings']) {
        await page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link', { name: place }).click()
        await page.waitForURL(`**/wardroom/${place.toLowerCase()}*`)
        await page.getByRole('heading', { name: place }).first().waitFor()
      }
      const made = (await call(service, 'POST', '/tasks', { title: 'Deep below' })) as { key: string }
      await page.goto(`${below}/tasks/${made.key}`)
      await page.getByText('Deep below').first().waitFor()
      await page.reload()
      // Links in texts.
      await page.goto(`${below}/agents`)
      await page.locator('main a[href="/wardroom/settings/gateway"]').first().click()
      await page.waitForURL('**/wardroom/settings/gateway')
      await page.goBack()
      await page.goBack()
      await page.getByText('Deep below').first().waitFor()
      await call(service, 'PATCH', `/tasks/${made.key}`, { title: 'Changed below' })
      await page.getByText('Changed below').first().waitFor()
      // Back to the page after the sign-in.
      await page.evaluate(() => localStorage.clear())
      await page.goto(`${below}/tasks?view=table&priority=high`)
      await page.waitForURL(/\/wardroom\/login\?back=/)
      await signIn(page, service)
      await page.waitForURL('**/wardroom/tasks?view=table&priority=high')
      const docs = await page.request.get(`${below}/api/docs`)
      expect(await docs.text()).toContain('href="/wardroom/api/v1/openapi.json"')
      expect(lost.filter(url => !url.startsWith('blob:'))).toEqual([])
      expect(complaints.filter(c => !/\b503\b.*\/agentrt\//.test(c))).toEqual([])
      // Past the proxy, on the machine itself.
      const direct = await openPage(browser, service.base, desktop)
      await direct.page.goto('/tasks')
      await signIn(direct.page, service)
      await direct.page.getByText('Changed below').first().waitFor()
      expect(new URL(direct.page.url()).pathname).toBe('/tasks')
      expect(direct.complaints.filter(c => !/\b503\b.*\/agentrt\//.test(c))).toEqual([])
    } finally {
      await context.close()
      await service.close()
      await proxy.close()
    }
  })

  it('the link of the terminal creates the owner', async () => {
    const proxy = await openRealProxy(program)
    const service = await openService({ PUBLIC_URL: `${proxy.url}/wardroom` })
    await proxy.serve((await documented(program, heading, service.base))[nth] ?? '')
    const { context, page } = await openPage(browser, proxy.url, desktop)
    try {
      expect(service.link).toContain(`${proxy.url}/wardroom/setup#`)
      await page.goto(service.link)
      await page.getByLabel('Email').fill(service.email)
      await page.getByLabel('Name').fill('Ada')
      await page.getByLabel('Password', { exact: true }).fill(service.password)
      await page.getByLabel('Password', { exact: true }).press('Enter')
      await page.waitForURL('**/wardroom/welcome')
      await entered(page)
    } finally {
      await context.close()
      await service.close()
      await proxy.close()
    }
  })
})

// Two Wardrooms below different paths of one host share the browser's storage, and must not share a sign-in.
describe('two of one host', () => {
  it('keep their sign-ins apart', async () => {
    const proxy = await openRealProxy('nginx')
    const [one, two] = [
      await openOwned({
        PUBLIC_URL: `${proxy.url}/one`,
        JWT_SECRET: 'the first secret of two, which is certainly long enough',
      }),
      await openOwned({
        PUBLIC_URL: `${proxy.url}/two`,
        JWT_SECRET: 'the second secret of two, which is certainly long enough',
      }),
    ]
    const [first = ''] = await documented('nginx', heading, one.base)
    const [second = ''] = await documented('nginx', heading, two.base)
    await proxy.serve(first.replace('/wardroom/', '/one/') + second.replace('/wardroom/', '/two/'))
    const { context, page } = await openPage(browser, proxy.url, desktop)
    try {
      for (const name of ['one', 'two']) {
        await page.goto(`/${name}/tasks`)
        await signIn(page, one)
      }
      for (const name of ['one', 'two', 'one']) {
        await page.goto(`/${name}/tasks`)
        await entered(page)
        await page
          .getByRole('banner')
          .getByText(/^(Live|No gateway)$/)
          .waitFor()
      }
    } finally {
      await context.close()
      await one.close()
      await two.close()
      await proxy.close()
    }
  })
})
