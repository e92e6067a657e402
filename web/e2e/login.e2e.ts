import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, entered, looks, openPage, phone, signIn, sizes } from './browser.ts'
import { browser, demo, setUp } from './fixture.ts'
import { openOwned, type Service } from './service.ts'

setUp()

describe.each(sizes)('signing in, %s', (_, look) => {
  it('is said plainly when the password is wrong, and leads to where one wanted to go', { tags: 'smoke' }, async () => {
    const { context, page, complaints } = await openPage(browser, demo.base, look)
    await page.goto('/tasks?view=table&priority=high')
    await page.getByLabel('Email').waitFor()
    expect(page.url()).toContain('/login?back=')
    expect(await axeFaults(page)).toEqual([])
    await page.getByLabel('Email').fill(demo.email)
    await page.getByLabel('Password', { exact: true }).fill('not the password')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toContain('The email or password is wrong.')
    expect(await axeFaults(page)).toEqual([])
    // The browser logs every 401.
    expect(complaints.filter(c => !c.includes('401'))).toEqual([])
    complaints.length = 0
    await signIn(page, demo)
    await page.waitForURL('**/tasks?view=table&priority=high')
    expect(await page.title()).toBe('Tasks · Wardroom')
    await page.getByRole('button', { name: /^You/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByLabel('Email').waitFor()
    expect(await page.evaluate(() => Object.keys(localStorage).filter(k => k !== 'wardroom.view'))).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

// A refused registration must keep its input.
describe('an account of one’s own', () => {
  let open: Service
  beforeAll(async () => {
    open = await openOwned({ REGISTRATION_ENABLED: 'true' })
  })
  afterAll(() => open?.close())

  it.each(sizes)('is made, %s: what is refused is said at its field, and nothing is lost', async (_, look) => {
    const { context, page, complaints } = await openPage(browser, open.base, look)
    const field = (label: string) => page.getByLabel(label, { exact: true })
    // Unique, also on a second try.
    const email = `grace-${Date.now()}@example.com`
    const make = () => page.getByRole('button', { name: 'Create account' }).click()
    /** Checks the error at a field, and that all input is still there. */
    const refused = async (label: string, words: string, typed: [email: string, name: string, password: string]) => {
      await page.getByRole('alert').filter({ hasText: words }).waitFor()
      const at = field(label)
      expect(await at.getAttribute('aria-invalid')).toBe('true')
      expect(await page.locator(`[id="${await at.getAttribute('aria-describedby')}"]`).textContent()).toContain(words)
      await expect.poll(() => page.getByRole('alert').count()).toBe(1)
      expect(await Promise.all(['Email', 'Name', 'Password'].map(l => field(l).inputValue()))).toEqual(typed)
    }
    await page.goto('/tasks?view=table&priority=high')
    await page.getByRole('link', { name: 'Create an account' }).waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.getByRole('link', { name: 'Create an account' }).click()
    await page.waitForURL(/\/register\?back=/)
    await page.getByRole('button', { name: 'Create account' }).waitFor()
    expect(await page.title()).toBe('Create an account · Wardroom')
    expect(await axeFaults(page)).toEqual([])

    await field('Email').fill(email)
    await field('Password').fill('too short')
    await make()
    await refused('Password', '12 characters', [email, '', 'too short'])
    await field('Email').fill(open.email)
    await field('Password').fill(open.password)
    await make()
    await refused('Email', 'Another account already uses this email.', [open.email, '', open.password])
    await field('Email').fill('ada@example.org')
    await make()
    await refused('Name', 'already in use', ['ada@example.org', '', open.password])
    await field('Name').fill('Ada')
    await make()
    await refused('Name', 'Another account already uses this name.', ['ada@example.org', 'Ada', open.password])
    expect(await axeFaults(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    // The browser logs every refused request.
    expect(complaints.filter(c => !/\b(409|422)\b/.test(c))).toEqual([])
    complaints.length = 0

    // To sign-in and back, keeping the return path.
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.waitForURL(/\/login\?back=/)
    await page.getByRole('link', { name: 'Create an account' }).click()
    await field('Email').fill(email)
    await field('Name').fill(`Grace ${Date.now()}`)
    await field('Password').fill('four random words are good')
    await page.keyboard.press('Enter')
    await entered(page)
    await page.waitForURL('**/tasks?view=table&priority=high')
    await page.getByText('No gateway').first().waitFor()
    await page.getByRole('heading', { level: 2 }).first().waitFor()
    // Signed-in users don't need to register.
    await page.goto('/register?back=/inbox')
    await page.waitForURL('**/inbox')
    await entered(page)
    expect(complaints).toEqual([])
    await context.close()
  })

  it.each(sizes)('is not offered where people may not make one, %s', async (_, look) => {
    const { context, page, complaints } = await openPage(browser, demo.base, look)
    await page.goto('/login')
    await page.getByText('printed in your terminal').waitFor()
    expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(0)
    await page.goto('/register?back=/inbox')
    await page.getByText('Ask the owner or an admin').waitFor()
    expect(await page.getByRole('textbox').count()).toBe(0)
    expect(await axeFaults(page)).toEqual([])
    await page.getByRole('link', { name: 'Sign in' }).click()
    await signIn(page, demo)
    await page.waitForURL('**/inbox')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is refused where that was closed meanwhile, with the way back', async () => {
    const { context, page } = await openPage(browser, demo.base, desktop)
    await page.route('**/api/v1/config', async route => {
      const answer = await route.fetch()
      await route.fulfill({ json: { ...(await answer.json()), registration_enabled: true } })
    })
    await page.goto('/register')
    await page.getByLabel('Email').fill('grace@example.com')
    await page.getByLabel('Password', { exact: true }).fill('four random words are good')
    await page.keyboard.press('Enter')
    await page.getByText('Ask the owner or an admin').waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'Sign in' }).count()).toBe(1)
    await context.close()
  })
})

describe('a token', () => {
  it('that is refused leads to the login, which says why, and back', async () => {
    const { context, page } = await openPage(browser, demo.base, looks['light desktop'] as never)
    await page.goto('/login')
    await page.evaluate(() => localStorage.setItem('wardroom.token', 'eyJhbGciOiJIUzI1NiJ9.e30.AAAA'))
    await page.goto('/tasks?task=TASK-7')
    await page.getByText('Your session expired').waitFor()
    await signIn(page, demo)
    await page.getByRole('heading', { name: 'Renew the signing certificate' }).waitFor()
    await context.close()
  })
})

describe('the link of a demo', () => {
  it('signs in once, leads a signed-in browser on, and says elsewhere that it was used', async () => {
    const { context, page, complaints } = await openPage(browser, demo.base, desktop)
    await page.goto(demo.link)
    await entered(page)
    expect(page.url()).toBe(`${demo.base}/`)
    expect(complaints).toEqual([])
    await page.goto(demo.link)
    await page.waitForURL(`${demo.base}/`)
    await entered(page)
    await context.close()
    const other = await openPage(browser, demo.base, phone)
    await other.page.goto(demo.link)
    await other.page.getByRole('alert').filter({ hasText: 'already used' }).waitFor()
    expect(other.page.url()).toBe(`${demo.base}/sign-in`)
    expect(await axeFaults(other.page)).toEqual([])
    await other.page.getByRole('link', { name: 'Sign in with email' }).press('Enter')
    await other.page.getByLabel('Email').waitFor()
    await other.context.close()
  })
})

describe('an address', () => {
  it('that is none gets a page that helps, and a file that is none gets no page', async () => {
    const { context, page, complaints } = await openPage(browser, demo.base, looks['light desktop'] as never)
    await page.goto('/')
    await signIn(page, demo)
    await page.goto('/nowhere/at/all')
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    expect((await page.request.get('/assets/gone.js')).status()).toBe(404)
    expect((await page.request.get('/api/nowhere', { headers: { Accept: 'text/html' } })).status()).toBe(404)
    await context.close()
  })
  it('of a stranger is not followed after the login', async () => {
    const { context, page } = await openPage(browser, demo.base, looks['light desktop'] as never)
    await page.goto('/login?back=//evil.example/')
    await signIn(page, demo)
    expect(new URL(page.url()).origin).toBe(demo.base)
    await context.close()
  })
})
