import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  call,
  faults,
  type House,
  isWhole,
  type Look,
  looks,
  openBrowser,
  openHouse,
  openPage,
  signIn,
  sizes,
} from './house.ts'

let house: House
let browser: Browser

beforeAll(async () => {
  house = await openHouse()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  await house?.close()
})

async function opened(look: Look, path: string) {
  const watched = await openPage(browser, house.base, look)
  await watched.page.goto(path)
  await signIn(watched.page, house)
  return watched
}

const column = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

describe.each(sizes)('tasks, %s', (_, look) => {
  it('have no fault that axe knows: board, table, one task, a new one', async () => {
    const { context, page, complaints } = await opened(look, '/tasks?view=board')
    for (const [path, ready] of [
      ['/tasks?view=board', 'article'],
      ['/tasks?view=table', '[role=row] button'],
      ['/tasks?view=board&task=TASK-8', 'aside h2'],
      ['/tasks?task=TASK-8&tab=history', 'aside ol'],
      ['/tasks?task=TASK-13&tab=relations', 'aside section'],
      ['/tasks?task=TASK-999', 'aside [role=alert]'],
      ['/tasks?q=nothing-has-this-name', 'main h2'],
      ['/tasks?new=1', '[role=dialog] input'],
    ] as const) {
      await page.goto(path)
      await page.locator(ready).first().waitFor()
      expect(await faults(page), path).toEqual([])
    }
    expect(complaints.filter(c => !c.includes('404'))).toEqual([])
    // Nothing stands out of the window but what is meant to be swiped.
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    if (look.width < 600) {
      await page.goto('/tasks?view=table')
      expect(await isWhole(page, 'Tasks')).toBe(true)
    }
    await context.close()
  })
})

// Work that is given to somebody who is not there any more is done by nobody.
describe('whom a task is for', () => {
  it('is nobody whose account is deactivated, unless it is theirs already', async () => {
    const password = 'four random words are good'
    const make = async (name: string) =>
      (await call(house, 'POST', '/users', { email: `${name}@wardroom.demo`, name, role: 'user', password })) as {
        id: string
      }
    const gone = await make('Grace')
    await make('Ursula')
    const task = async (title: string, more: object) =>
      ((await call(house, 'POST', '/tasks', { title, ...more })) as { key: string }).key
    const [hers, free] = [await task('Hers', { assignee_id: gone.id }), await task('Free', {})]
    await call(house, 'PATCH', `/users/${gone.id}`, { active: false })
    const { context, page, complaints } = await openPage(browser, house.base, looks['light desktop'] as Look)
    await page.goto(`/tasks?task=${free}`)
    await signIn(page, { ...house, email: 'ursula@wardroom.demo', password })
    const choices = () => page.getByRole('complementary').getByLabel('Assigned to').locator('option').allTextContents()
    await expect.poll(choices).toContain('Ursula')
    expect(await choices()).not.toContain('Grace')
    await page.goto(`/tasks?task=${hers}`)
    await expect.poll(choices).toContain('Grace')
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Two people look at one board: what one does, the other sees, without a reload.
describe('a board that two look at', () => {
  it('shows what the other does: create, move by keys, block, comment, finish', async () => {
    const look = looks['light desktop'] as Look
    const one = await opened(look, '/tasks?view=board')
    const two = await opened(look, '/tasks?view=board')
    await column(two.page, 'To do').getByRole('article').first().waitFor()
    await two.page.getByText('Live', { exact: true }).waitFor()

    // By keyboard alone.
    await one.page.locator('article').first().waitFor()
    await one.page.keyboard.press('c')
    await one.page.getByRole('textbox', { name: 'Title' }).fill('Write the runbook')
    await one.page.keyboard.press('Enter')
    await one.page.getByRole('heading', { name: 'Write the runbook' }).waitFor()
    await one.page.keyboard.press('Escape')
    await column(one.page, 'To do').getByText('Write the runbook').waitFor()

    // Somebody else's new task waits until one wants to see it.
    const wait = two.page.getByRole('button', { name: '1 new' })
    await wait.waitFor()
    expect(await column(two.page, 'To do').getByText('Write the runbook').count()).toBe(0)
    await wait.click()
    await column(two.page, 'To do').getByText('Write the runbook').waitFor()

    const card = one.page.getByRole('link', { name: 'Write the runbook' })
    await card.focus()
    await one.page.keyboard.press(']')
    await column(two.page, 'In progress').getByText('Write the runbook').waitFor()
    await one.page.getByRole('button', { name: 'Undo' }).click()
    await column(two.page, 'To do').getByText('Write the runbook').waitFor()

    await card.click()
    await one.page.getByRole('button', { name: 'Say why it is blocked' }).click()
    await one.page.getByLabel('What is in the way?').fill('No access to the machine')
    await one.page.keyboard.press('Enter')
    await two.page.getByText('No access to the machine').waitFor()
    await one.page.getByLabel('Write a comment').fill('Asked for **access**')
    await one.page.getByRole('button', { name: 'Comment', exact: true }).click()
    await one.page.locator('strong', { hasText: 'access' }).waitFor()
    await one.page.getByRole('button', { name: 'Not blocked any more' }).click()
    await one.page.locator('aside').getByLabel('Status').selectOption('done')
    await column(two.page, 'Done').getByText('Write the runbook').waitFor()
    expect([...one.complaints, ...two.complaints]).toEqual([])
    await one.context.close()
    await two.context.close()
  })

  it('keeps the order that somebody gives it with the pointer and with the menu', async () => {
    const { context, page, complaints } = await opened(looks['light desktop'] as Look, '/tasks?view=board')
    const titles = (name: string) => column(page, name).getByRole('article').getByRole('link').allTextContents()
    const moved = column(page, 'To do').getByRole('article').first()
    await moved.waitFor()
    const [first = ''] = await titles('To do')
    await moved.dragTo(column(page, 'In progress').getByRole('article').nth(1), { targetPosition: { x: 60, y: 8 } })
    await expect.poll(async () => (await titles('In progress')).indexOf(first)).toBe(1)
    await page.reload()
    await expect.poll(async () => (await titles('In progress')).indexOf(first)).toBe(1)
    await column(page, 'In progress').getByRole('article').nth(1).hover()
    await column(page, 'In progress')
      .getByRole('article')
      .nth(1)
      .getByRole('button', { name: /^Actions/ })
      .click()
    await page.getByRole('menuitem', { name: 'To the bottom' }).click()
    await expect.poll(async () => (await titles('In progress')).at(-1)).toBe(first)
    await page.reload()
    await expect.poll(async () => (await titles('In progress')).at(-1)).toBe(first)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// What agents write must stay text, whatever it is, and must not break the page.
describe('hostile texts', () => {
  it('are shown as they are', async () => {
    const hostile =
      '<img src=x onerror="document.title=1"><script>document.title=2</script> \u202Egnp.exe [x](javascript:document.title=3) ![i](https://elsewhere.example/p.png)'
    const task = (await call(house, 'POST', '/tasks', {
      title: hostile.replace('\u202E', '').slice(0, 150),
      description: `${hostile}\n\n${'x'.repeat(10_000)}`,
    })) as { key: string }
    await call(house, 'PATCH', `/tasks/${task.key}`, { blocked: { reason: hostile } })
    await call(house, 'POST', `/tasks/${task.key}/comments`, { body: hostile })
    const { context, page, complaints } = await opened(looks['light phone'] as Look, `/tasks?task=${task.key}`)
    await page.locator('aside h2').waitFor()
    await page.locator('aside ol li').first().waitFor()
    expect(await page.locator('aside img, aside script, aside [onerror]').count()).toBe(0)
    expect(await page.locator('aside a[href^="javascript"]').count()).toBe(0)
    expect(await page.title()).toBe(`${task.key} · Tasks · Wardroom`)
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    expect(await faults(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Everything is a few keys away, also for those who have no pointer.
describe('the palette', () => {
  it('finds a task, an agent and a place by keyboard', async () => {
    const { context, page, complaints } = await opened(looks['dark desktop'] as Look, '/')
    const find = async (text: string, option: string | RegExp) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill(text)
      await page.getByRole('option', { name: option }).first().waitFor()
      expect(await faults(page)).toEqual([])
      await page.keyboard.press('Enter')
    }
    await find('task-7', /TASK-7/)
    await page.getByRole('heading', { name: 'Renew the signing certificate' }).waitFor()
    await find('cmo', /CMO/)
    await page.waitForURL('**/tasks?assignee=cmo')
    await find('sched', /Schedules/)
    await page.waitForURL('**/schedules')
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.waitForURL('**/tasks')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    expect(await faults(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})
