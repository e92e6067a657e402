import { describe, expect, it } from 'vitest'
import { looks, openPage, signIn, sizes } from './browser.ts'
import { faults } from './faults.ts'
import { browser, house, onStage } from './stage.ts'

onStage()

// Who cannot sign in sees nothing else of all this.
describe.each(sizes)('signing in, %s', (_, look) => {
  it('is said plainly when the password is wrong, and leads to where one wanted to go', async () => {
    const { context, page, complaints } = await openPage(browser, house.base, look)
    await page.goto('/tasks?view=table&priority=high')
    await page.getByLabel('Email').waitFor()
    expect(page.url()).toContain('/login?back=')
    expect(await faults(page)).toEqual([])
    await page.getByLabel('Email').fill(house.email)
    await page.getByLabel('Password', { exact: true }).fill('not the password')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toContain('The email or the password is wrong.')
    expect(await faults(page)).toEqual([])
    // The browser itself tells its console of every 401; that is the only word allowed there.
    expect(complaints.filter(c => !c.includes('401'))).toEqual([])
    complaints.length = 0
    await signIn(page, house)
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

describe('a token', () => {
  it('that is refused leads to the login, which says why, and back', async () => {
    const { context, page } = await openPage(browser, house.base, looks['light desktop'] as never)
    await page.goto('/login')
    await page.evaluate(() => localStorage.setItem('wardroom.token', 'eyJhbGciOiJIUzI1NiJ9.e30.AAAA'))
    await page.goto('/tasks?task=TASK-7')
    await page.getByText('Your sign-in has expired').waitFor()
    await signIn(page, house)
    await page.getByRole('heading', { name: 'Renew the signing certificate' }).waitFor()
    await context.close()
  })
})

describe('an address', () => {
  it('that is none gets a page that helps, and a file that is none gets no page', async () => {
    const { context, page, complaints } = await openPage(browser, house.base, looks['light desktop'] as never)
    await page.goto('/')
    await signIn(page, house)
    await page.goto('/nowhere/at/all')
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    expect(await faults(page)).toEqual([])
    expect(complaints).toEqual([])
    expect((await page.request.get('/assets/gone.js')).status()).toBe(404)
    expect((await page.request.get('/api/nowhere', { headers: { Accept: 'text/html' } })).status()).toBe(404)
    await context.close()
  })
  it('of a stranger is not followed after the login', async () => {
    const { context, page } = await openPage(browser, house.base, looks['light desktop'] as never)
    await page.goto('/login?back=//evil.example/')
    await signIn(page, house)
    expect(new URL(page.url()).origin).toBe(house.base)
    await context.close()
  })
})

// The frame is the same everywhere; each place has to be right for everybody who uses it.
describe.each(sizes)('every place, %s', (_, look) => {
  it('has no fault that axe knows, and nothing goes wrong unseen', async () => {
    const { context, page, complaints } = await openPage(browser, house.base, look)
    await page.goto('/')
    await signIn(page, house)
    for (const path of ['/', '/inbox', '/agents', '/sessions', '/standups', '/schedules', '/spend', '/settings']) {
      await page.goto(path)
      await page.locator('main h1, main h2').first().waitFor()
      expect(await faults(page), path).toEqual([])
    }
    expect(complaints).toEqual([])
    await context.close()
  })
})
