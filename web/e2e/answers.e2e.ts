import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { desktop, entered, openPage, signIn } from './browser.ts'
import { call } from './demo.ts'
import { browser, demo, setUp } from './fixture.ts'
import { openWebProxy, type ProxyAnswer } from './proxy.ts'
import { documented, openRealProxy, type Program } from './real-proxy.ts'

setUp()

/** The password "of the proxy" with bcrypt, at its lowest cost. */
const hash = '$2a$04$r9CYlq3pP4cNMTpwQzl8QuuEyhLkqLUKYKP9bTtOAI.rDC7c52r6i'

const answers: [string, ProxyAnswer, RegExp][] = [
  ['401', { status: 401 }, /HTTP 401/],
  ['403', { status: 403 }, /HTTP 403/],
  ['a redirect to its login page', { status: 302, headers: { Location: '/proxy-login' } }, /a redirect/],
  ['a redirect to another host', { status: 302, headers: { Location: 'http://sso.invalid/login' } }, /a redirect/],
  ['its login page', { status: 200 }, /HTTP 200 with a web page/],
  ['JSON of its own', { status: 401, headers: { 'Content-Type': 'application/json' }, body: '{}' }, /HTTP 401/],
]

// Proxies with a sign-in of their own answer in Wardroom's place when it ends. That must not end Wardroom's.
describe('a proxy that answers', () => {
  it.each(answers)('%s is named, and the sign-in stays', async (_, given, what) => {
    const proxy = await openWebProxy(demo.base)
    const { context, page, complaints } = await openPage(browser, proxy.url, desktop)
    await page.goto('/tasks?view=board')
    await signIn(page, demo)
    const live = page.getByRole('banner').getByText('Live', { exact: true })
    await live.waitFor()
    proxy.answer = r => (r.url?.startsWith('/api/') ? given : undefined)
    // Ends the stream, so that it is answered as well.
    for (const r of proxy.open) r.socket.destroy()
    const line = page.getByRole('status').filter({ hasText: 'A proxy answered instead of Wardroom' })
    await line.getByText(what).waitFor()
    await page.getByRole('link', { name: 'Agents' }).first().click()
    await page.getByRole('alert').getByText('A proxy answered instead of Wardroom.').waitFor()
    const words = await page.locator('body').innerText()
    for (const wrong of ['session expired', 'role doesn’t allow', 'SyntaxError', 'Something went wrong'])
      expect(words).not.toContain(wrong)
    expect(await page.evaluate(() => localStorage.getItem('wardroom.token'))).toBeTruthy()
    expect(await line.getByRole('button', { name: 'Reload page' }).count()).toBe(1)
    proxy.answer = () => undefined
    await live.waitFor()
    await page.getByRole('main').getByText('cto').first().waitFor()
    await expect.poll(() => line.count()).toBe(0)
    // The browser reports where a redirect leads, although the dashboard doesn't follow it.
    expect(complaints.filter(c => !/\b(401|403|ERR_)|sso\.invalid/.test(c))).toEqual([])
    await context.close()
    await proxy.close()
  })

  it('also for the files of a page that was not opened before is named, and the page comes later', async () => {
    const proxy = await openWebProxy(demo.base)
    const { context, page } = await openPage(browser, proxy.url, desktop)
    // Pages are not loaded ahead.
    await context.addInitScript(() => Object.defineProperty(navigator, 'connection', { value: { saveData: true } }))
    await page.goto('/tasks?view=board')
    await signIn(page, demo)
    await page.getByRole('banner').getByText('Live', { exact: true }).waitFor()
    proxy.answer = () => ({ status: 302, headers: { Location: '/proxy-login' } })
    await page.getByRole('link', { name: 'Agents' }).first().click()
    await page.getByText('A proxy answered instead of Wardroom (a redirect).').waitFor()
    proxy.answer = () => undefined
    await page.getByRole('main').getByText('cto').first().waitFor()
    expect(await page.getByText('A proxy answered').count()).toBe(0)
    await context.close()
    await proxy.close()
  })

  it('at the sign-in is named there', async () => {
    const proxy = await openWebProxy(demo.base)
    const { context, page } = await openPage(browser, proxy.url, desktop)
    await page.goto('/login')
    await page.getByLabel('Email').fill(demo.email)
    await page.getByLabel('Password', { exact: true }).fill(demo.password)
    proxy.answer = r => (r.url?.startsWith('/api/') ? { status: 401 } : undefined)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('A proxy answered instead of Wardroom.').waitFor()
    proxy.answer = () => undefined
    await page.getByRole('button', { name: 'Sign in' }).click()
    await entered(page)
    await context.close()
    await proxy.close()
  })
})

describe.each<Program>(['nginx', 'caddy'])('%s with a sign-in of its own', program => {
  it('lets people work who know its password', async () => {
    const proxy = await openRealProxy(program)
    const passwords = join(proxy.folder, 'htpasswd')
    await writeFile(passwords, 'team:{PLAIN}of the proxy\n')
    const [ask = ''] = await documented(program, 'Ask for a password first', demo.base)
    await proxy.serve(ask.replace('/etc/nginx/wardroom.htpasswd', passwords).replace(/\$2a\S+/, hash))
    const { context, page } = await openPage(browser, proxy.url, desktop)
    expect((await page.goto('/tasks'))?.status()).toBe(401)
    await page.goto(`${proxy.url.replace('//', '//team:of%20the%20proxy@')}/tasks?view=table`)
    await signIn(page, demo)
    await page.getByRole('banner').getByText('Live', { exact: true }).waitFor()
    const { key } = (await call(demo, 'POST', '/tasks', { title: 'Behind a password' })) as { key: string }
    await page.goto(`${proxy.url}/tasks/${key}`)
    await page.getByText('Behind a password').first().waitFor()
    await call(demo, 'PATCH', `/tasks/${key}`, { title: 'Changed behind a password' })
    await page.getByText('Changed behind a password').first().waitFor()
    await context.close()
    await proxy.close()
  })

  it('asks another service about each request, and Wardroom’s sign-in outlives that of the service', async () => {
    let signedIn = true
    const other = createServer((_, res) => res.writeHead(signedIn ? 204 : 401).end()).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const proxy = await openRealProxy(program)
    const [ask = ''] = await documented(program, 'Use the sign-in of another service', demo.base)
    const { port } = other.address() as AddressInfo
    await proxy.serve(ask.replace('127.0.0.1:4180', `127.0.0.1:${port}`))
    const { context, page } = await openPage(browser, proxy.url, desktop)
    await page.goto('/tasks?view=board')
    await signIn(page, demo)
    await page.getByRole('banner').getByText('Live', { exact: true }).waitFor()
    signedIn = false
    await page.getByRole('link', { name: 'Agents' }).first().click()
    await page.getByText('A proxy answered instead of Wardroom').first().waitFor()
    signedIn = true
    await page.getByRole('main').getByText('cto').first().waitFor()
    await context.close()
    await proxy.close()
    other.close()
  })
})
