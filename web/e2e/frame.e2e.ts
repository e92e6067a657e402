import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, type Look, openPage, signIn } from './browser.ts'
import { call, startDemo } from './demo.ts'
import { choose } from './fields.ts'
import { browser, demo, opened, setUp } from './fixture.ts'
import { layoutFaults } from './layout.ts'
import { openProxy } from './proxy.ts'
import { openOwned } from './service.ts'

setUp()

const places = ['/', '/inbox', '/tasks', '/agents', '/sessions', '/standups', '/schedules', '/spend', '/settings']
const wide = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)

// Everything must be reachable by keyboard.
describe('the keys', () => {
  it('go to every place, and the list names them', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks?view=table')
    for (const [key, path] of Object.entries({
      i: '/inbox',
      a: '/agents',
      s: '/sessions',
      d: '/standups',
      c: '/schedules',
      p: '/spend',
      t: '/tasks',
      n: '/',
    })) {
      await page.keyboard.press('g')
      await page.keyboard.press(key)
      await page.waitForURL(url => url.pathname === path)
    }
    await page.keyboard.press('?')
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await list.getByText('Go to Tasks').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.keyboard.press('Escape')
    await list.waitFor({ state: 'hidden' })
    await page.keyboard.press('/')
    await page.getByRole('dialog').getByRole('combobox').waitFor()
    await page.keyboard.press('Escape')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('walk through tasks, open one, choose some, and make one', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks?view=table&sort=key')
    const focused = () => page.evaluate(() => document.activeElement?.closest('[role=row]')?.textContent ?? '')
    await page.getByRole('row').nth(2).waitFor()
    await page.keyboard.press('j')
    const first = await focused()
    await page.keyboard.press('j')
    expect(await focused()).not.toBe(first)
    await page.keyboard.press('k')
    expect(await focused()).toBe(first)
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('x')
    await page.keyboard.press('o')
    await page.locator('aside h2').waitFor()
    expect(page.url()).toContain('task=TASK-')
    await page.keyboard.press('Escape')
    await page.locator('aside h2').waitFor({ state: 'hidden' })
    await page.keyboard.press('c')
    await page.getByRole('dialog').getByRole('textbox', { name: 'Title' }).waitFor()
    // Shortcuts must not fire while typing.
    await page.keyboard.type('gt?j/x')
    expect(await page.getByRole('dialog').getByRole('textbox', { name: 'Title' }).inputValue()).toBe('gt?j/x')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Discard task' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect(complaints).toEqual([])
    await context.close()
  })

  it('can be switched off by those who speak to their machine', async () => {
    const { context, page } = await opened(desktop, '/tasks')
    await page.getByRole('button', { name: /^You/ }).click()
    await page.getByRole('menuitem', { name: 'Single-key shortcuts' }).click()
    await page.keyboard.press('?')
    await page.keyboard.press('g')
    await page.keyboard.press('n')
    expect(new URL(page.url()).pathname).toBe('/tasks')
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').waitFor()
    await context.close()
  })

  it('work the menus whose parts are loaded late, and give the focus back', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks')
    const me = page.getByRole('button', { name: /^You/ })
    for (let i = 0; i < 2; i++) {
      await me.focus()
      await page.keyboard.press('Enter')
      await page.getByRole('menuitem', { name: 'Dark' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('menuitem', { name: 'Dark' }).waitFor({ state: 'hidden' })
      await expect.poll(() => me.evaluate(b => b === document.activeElement)).toBe(true)
    }
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Prefetched pages render with their data at once.
describe('a place that somebody points at', () => {
  it('is read before they go there, and not again when they do', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks?view=table')
    // Wait for the refetches that the first events cause.
    await page.waitForTimeout(1_000)
    const asked: string[] = []
    page.on('request', r => asked.push(new URL(r.url()).pathname))
    const link = page
      .getByRole('navigation', { name: 'Pages' })
      .first()
      .getByRole('link', { name: /^Standups/ })
    const [sheet] = await Promise.all([
      page.waitForResponse(r => /^\/api\/v1\/standups\/[0-9a-f-]{36}$/.test(new URL(r.url()).pathname)),
      link.hover(),
    ])
    await sheet.finished()
    expect(new URL(page.url()).pathname).toBe('/tasks')
    // The open standup requests its schedule.
    await Promise.all([page.waitForResponse(r => r.url().includes('/agentrt/jobs')), link.click()])
    await page.locator('main h2').first().waitFor()
    const path = new URL(sheet.url()).pathname
    expect(asked.filter(a => a === path)).toHaveLength(1)
    expect(asked.filter(a => a === '/api/v1/teams')).toHaveLength(1)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Pages must fit a phone.
describe.each([320, 360])('a phone of %d px', width => {
  const tags = width === 360 ? ['smoke'] : []
  it('has every place behind its bottom bar, and nothing to scroll sideways', { tags }, async () => {
    const look: Look = { theme: width === 360 ? 'dark' : 'light', width, height: 640 }
    const { context, page, complaints } = await opened(look, '/')
    const bar = page.getByRole('navigation', { name: 'Pages' }).last()
    await bar.getByRole('link', { name: 'Tasks' }).tap()
    await page.waitForURL('**/tasks**')
    await bar.getByRole('button', { name: 'More' }).tap()
    await page.getByRole('menuitem', { name: 'Spend' }).tap()
    await page.waitForURL('**/spend')
    await bar.getByRole('button', { name: 'More: Spend' }).waitFor()
    for (const path of places) {
      await page.goto(path)
      await page.locator('main h1, main h2, article').first().waitFor()
      expect(await layoutFaults(page), path).toEqual([])
      if (width === 360) expect(await axeFaults(page), path).toEqual([])
    }
    for (const path of ['/tasks?view=table', '/tasks?task=TASK-7', '/tasks?new=1']) {
      await page.goto(path)
      await page.locator('[role=row], aside h2, [role=dialog] input').first().waitFor()
      expect(await layoutFaults(page), path).toEqual([])
      if (width === 360) expect(await axeFaults(page), path).toEqual([])
    }
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Recurring sessions must not crowd out other results.
describe('the search', () => {
  const found = (page: Page) => page.getByRole('listbox').getByRole('option')
  async function typed(page: Page, text: string) {
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').fill(text)
  }

  it('finds the task beside sessions of one title, which are one row with a count and an age', async () => {
    const { context, page, complaints } = await opened(desktop, '/')
    await typed(page, 'certificate')
    const task = found(page).filter({ hasText: /^Renew the signing certificate/ })
    await task.waitFor()
    const all = await found(page).allTextContents()
    const titles = all.filter(t => t.startsWith('Check the certificate'))
    expect(titles).toHaveLength(1)
    await found(page)
      .filter({ hasText: /^\d+ more with this title/ })
      .first()
      .waitFor()
    // Each result says what it is, and what matched.
    await found(page)
      .filter({ hasText: /TASK-7Task · / })
      .waitFor()
    await found(page)
      .filter({ hasText: /Session · / })
      .locator('mark')
      .first()
      .waitFor()
    await expect.poll(() => found(page).locator('time').count()).toBeGreaterThan(0)
    expect(await axeFaultsPassing(page)).toEqual([])
    await task.click()
    await page.waitForURL(/task=TASK-7/)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('has a task that is sought by its key first, with its title', async () => {
    const { context, page, complaints } = await opened(desktop, '/')
    await typed(page, 'task-7')
    await expect.poll(() => found(page).first().textContent()).toMatch(/^Renew the signing certificate\s*TASK-7/)
    expect(complaints).toEqual([])
    await context.close()
  })

  it.each([
    ['cto', '/agents/cto', 'cto'],
    ['gateway', '/settings/gateway', 'Gateway'],
    ['audit', '/settings/audit', 'Audit'],
    ['new task', '/tasks', 'New task'],
  ])('leads from %s to %s', async (text, path, label) => {
    const { context, page } = await opened(desktop, '/')
    await typed(page, text)
    const entry = found(page)
      .filter({ hasText: label })
      .filter({ hasNotText: /TASK-|Sessions/ })
      .first()
    await entry.waitFor()
    await entry.click()
    await page.waitForURL(url => url.pathname === path)
    await context.close()
  })
})

// The search must stay in one place.
describe('the top bar', () => {
  it('has the search in one place, whatever stands beside it', async () => {
    const { context, page } = await opened(desktop, '/')
    const search = page.getByRole('banner').getByRole('button', { name: /Search and commands/ })
    const at = new Set<number>()
    for (const name of ['Now', 'Inbox', 'Schedules', 'Spend', 'Settings']) {
      await page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link', { name }).click()
      await page.getByRole('banner').getByRole('heading', { name }).waitFor()
      at.add(Math.round((await search.boundingBox())?.x ?? 0))
    }
    expect([...at]).toHaveLength(1)
    await context.close()
  })

  it('tells on a phone what today cost, and in words that nothing is live', async () => {
    const proxy = await openProxy(demo.base)
    const { context, page } = await opened({ theme: 'light', width: 360, height: 640 }, '/schedules', {
      ...demo,
      base: proxy.url,
    })
    const bar = page.getByRole('banner')
    await expect.poll(() => bar.getByRole('link', { name: /today/ }).isVisible()).toBe(true)
    expect(await bar.getByRole('link', { name: /today/ }).textContent()).toMatch(/\$|unpriced|unknown/)
    await proxy.cut()
    await bar.getByText(/^(Stale|Offline)/).waitFor()
    expect(await wide(page)).toBeLessThanOrEqual(0)
    await context.close()
  })
})

// Times in different time zones must be labeled.
describe('a time of day', () => {
  it("is in the zone of whoever looks, and the service's is behind it", async () => {
    const { context, page } = await opened(desktop, '/')
    const fact = page
      .getByRole('main')
      .getByRole('link', { name: /standup .*\d\d:\d\d/ })
      .first()
    await fact.waitFor()
    const behind = (await fact.getAttribute('title')) ?? ''
    const mine = /(\d\d:\d\d):\d\d \(Europe\/Berlin/.exec(behind)?.[1]
    expect(mine, behind).toBeDefined()
    expect(await fact.textContent()).toContain(mine)
    await context.close()
  })
})

// A missing gateway is not an error.
describe('schedules without a gateway', () => {
  it('are one empty state that leads to its setup, and nobody is asked', async () => {
    const bare = await openOwned()
    try {
      const { context, page, complaints } = await opened(desktop, '/schedules', bare)
      await page.getByText('No gateway connected').waitFor()
      await page.waitForTimeout(500)
      expect(await page.getByRole('main').getByRole('alert').count()).toBe(0)
      expect(await page.getByRole('main').getByRole('status').count()).toBe(0)
      expect(await axeFaultsPassing(page)).toEqual([])
      await page.getByRole('link', { name: 'Connect gateway' }).click()
      await page.waitForURL('**/settings/gateway')
      expect(complaints).toEqual([])
      await context.close()
    } finally {
      await bare.close()
    }
  })
})

describe('reduced motion', () => {
  it('moves nothing when something changes', async () => {
    const { context, page } = await opened(desktop, '/tasks?view=board')
    await page.locator('article').first().waitFor()
    await page.evaluate(() => {
      const seen: string[] = []
      Object.assign(globalThis, { moved: seen })
      for (const kind of ['animationstart', 'transitionrun']) {
        document.addEventListener(kind, e => {
          const long = document.getAnimations().some(a => Number(a.effect?.getComputedTiming().duration ?? 0) > 20)
          if (long) seen.push(`${kind} of ${(e.target as Element).className}`)
        })
      }
    })
    await call(demo, 'PATCH', '/tasks/TASK-12', { priority: 'urgent' })
    await page.getByRole('button', { name: /^You/ }).click()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').waitFor()
    await page.keyboard.press('Escape')
    expect(await page.evaluate(() => (globalThis as unknown as { moved: string[] }).moved)).toEqual([])
    await context.close()
  })
})

// Unsaved input must survive a new build.
describe('a new build', () => {
  it('is offered and never forced', async () => {
    const { context, page, complaints } = await openPage(browser, demo.base, desktop)
    let newer = false
    await page.route('**/', async route => {
      if (!newer || route.request().resourceType() !== 'fetch') return route.continue()
      const answer = await route.fetch()
      const body = (await answer.text()).replace(/\/assets\/index-[^"]+\.js/, '/assets/index-newer.js')
      return route.fulfill({ response: answer, body })
    })
    await page.goto('/tasks')
    await signIn(page, demo)
    await page.getByRole('banner').getByText('Live', { exact: true }).waitFor()
    const offer = page.getByText('A new version is available.')
    expect(await offer.count()).toBe(0)
    newer = true
    await page.reload()
    await offer.waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.keyboard.press('c')
    await page.getByRole('dialog').getByRole('textbox', { name: 'Title' }).fill('Half a thought')
    await page.waitForTimeout(500)
    expect(await page.getByRole('dialog').getByRole('textbox', { name: 'Title' }).inputValue()).toBe('Half a thought')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Discard task' }).click()
    newer = false
    await page.getByRole('button', { name: 'Reload page' }).click()
    await offer.waitFor({ state: 'hidden' })
    expect(complaints).toEqual([])
    await context.close()
  })
})

const base64 = (v: unknown) => Buffer.from(typeof v === 'string' ? v : JSON.stringify(v)).toString('base64url')

// An expired session must not lose the user's place.
describe('a token that has expired', () => {
  it('leads to the login, which says so, and back to the very place', async () => {
    const { context, page } = await opened(desktop, '/tasks?view=table&priority=high')
    const token = (await page.evaluate(() => localStorage.getItem('wardroom.token'))) ?? ''
    const { jwt_secret } = JSON.parse(await readFile(join(demo.folder, 'demo.json'), 'utf8'))
    const [head = '', body = ''] = token.split('.')
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
    const old = `${head}.${base64({ ...claims, iat: claims.iat - 900_000, exp: claims.iat - 1000 })}`
    const signature = createHmac('sha256', jwt_secret).update(old).digest('base64url')
    await page.evaluate(t => localStorage.setItem('wardroom.token', t), `${old}.${signature}`)
    await page.reload()
    await page.getByText('Your session expired').waitFor()
    await signIn(page, demo)
    await page.waitForURL('**/tasks?view=table&priority=high')
    await context.close()
  })
})

// A shared machine must not keep data after sign-out.
describe('what is kept on the machine', () => {
  it('is the token and how one likes to look at things, and after signing out only that', async () => {
    const { context, page } = await opened(desktop, '/tasks?view=board')
    await page.getByRole('button', { name: /^You/ }).click()
    await page.getByRole('menuitem', { name: 'Dark' }).click()
    await page.locator('article').first().click()
    await page.locator('aside h2').waitFor()
    const kept = () =>
      page.evaluate(async () => ({
        local: Object.keys(localStorage).sort(),
        session: Object.keys(sessionStorage),
        cookies: document.cookie,
        databases: (await indexedDB.databases()).length,
        caches: typeof caches === 'undefined' ? [] : await caches.keys(),
        workers: (await navigator.serviceWorker?.getRegistrations())?.length ?? 0,
      }))
    const nothing = { session: [], cookies: '', databases: 0, caches: [], workers: 0 }
    expect(await kept()).toEqual({ local: ['wardroom.token', 'wardroom.view'], ...nothing })
    await page.getByRole('button', { name: /^You/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('Email').waitFor()
    expect(await kept()).toEqual({ local: ['wardroom.view'], ...nothing })
    expect(await page.evaluate(() => localStorage.getItem('wardroom.view'))).not.toContain('TASK')
    expect((await context.cookies()).length).toBe(0)
    await context.close()
  })
})

describe('saved views', () => {
  it('are named, in the address, and come back after a reload', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks?view=table&priority=high&assignee=cto')
    const menu = page.getByRole('button', { name: 'Saved views' })
    await menu.click()
    await page.getByRole('menuitem', { name: 'Save view…' }).click()
    await page.getByLabel('Name').fill('Hot <b>things</b>')
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForURL(/saved=Hot/)
    expect(await page.title()).toBe('Hot <b>things</b> · Tasks · Wardroom')
    await page.getByRole('button', { name: 'Clear filters' }).first().click()
    await page.waitForURL(url => !url.searchParams.has('priority') && !url.searchParams.has('saved'))
    await page.reload()
    await menu.click()
    await page.getByRole('menuitem', { name: 'Hot <b>things</b>' }).click()
    await page.waitForURL(
      url => url.searchParams.get('priority') === 'high' && url.searchParams.get('assignee') === 'cto',
    )
    await choose(page.getByLabel('Priority'), '')
    await menu.click()
    await page.getByRole('menuitem', { name: 'Delete Hot <b>things</b>' }).click()
    await page.waitForURL(url => !url.searchParams.has('saved'))
    expect(await page.evaluate(() => JSON.parse(localStorage.getItem('wardroom.view') ?? '{}').saved)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Users without access to the account list must still see names.
describe('somebody of the role user', () => {
  it('reads the names on tasks, and no more of their owners', async () => {
    const who = { email: 'ada@example.com', password: 'four words that nobody knows' }
    await call(demo, 'POST', '/users', { ...who, name: 'Ada', role: 'user' })
    const boss = { email: 'mia@example.com', password: who.password, name: 'Mia Mendel', role: 'admin' }
    await call(demo, 'POST', '/users', { ...boss, current_password: demo.password })
    await call(demo, 'PATCH', '/tasks/TASK-6', { assignee_id: boss.email })
    const { context, page, complaints } = await opened(desktop, '/tasks?task=TASK-6', { ...demo, ...who })
    await page.locator('aside').getByLabel('Assigned to').waitFor()
    await expect
      .poll(() => page.locator('aside').getByLabel('Assigned to').locator('bdi').textContent())
      .toBe('Mia Mendel')
    expect(await page.content()).not.toContain(boss.email)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Visitors of the demo must not mistake it for their own data.
describe('the demo', () => {
  it('says what it is, and its agents come and go while one looks', async () => {
    const live = await startDemo({ live: true })
    try {
      const { context, page, complaints } = await opened(desktop, '/', live)
      await page.getByRole('complementary', { name: 'Demo' }).waitFor()
      const working = async () => {
        const agents = (await call(live, 'GET', '/agents')) as { presence?: { state?: string } }[]
        return JSON.stringify(agents.map(a => a.presence))
      }
      const first = await working()
      await expect.poll(working, { timeout: 60_000, interval: 2_000 }).not.toBe(first)
      expect(complaints).toEqual([])
      await context.close()
    } finally {
      await live.close()
    }
  })
})
