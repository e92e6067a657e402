import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, isWhole, looks, sizes } from './browser.ts'
import { call } from './demo.ts'
import { choicesOf, choose } from './fields.ts'
import { demo, opened, setUp } from './fixture.ts'

setUp()

const column = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

describe.each(sizes)('tasks, %s', (_, look) => {
  it('have no fault that axe knows: board, table, one task, a new one', async () => {
    const { context, page, complaints } = await opened(look, '/tasks?view=board')
    for (const [path, ready] of [
      ['/tasks?view=board', 'article'],
      ['/tasks?view=table', '[role=row] button'],
      ['/tasks?view=board&task=TASK-8', 'aside h2'],
      ['/tasks?task=TASK-3', 'aside ol a'],
      ['/tasks?task=TASK-999', 'aside [role=alert]'],
      ['/tasks?q=nothing-has-this-name', 'main h2'],
      ['/tasks?new=1', '[role=dialog] input'],
    ] as const) {
      await page.goto(path)
      await page.locator(ready).first().waitFor()
      expect(await axeFaults(page), path).toEqual([])
    }
    expect(complaints.filter(c => !c.includes('404'))).toEqual([])
    // Only scroll regions may be wider than the window.
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    if (look.width < 600) {
      await page.goto('/tasks?view=table')
      expect(await isWhole(page, 'Tasks')).toBe(true)
    }
    await context.close()
  })
})

// Tasks must not be assigned to deactivated accounts.
describe('whom a task is for', () => {
  it('is nobody whose account is deactivated, unless it is theirs already', async () => {
    const password = 'four random words are good'
    const make = async (name: string) =>
      (await call(demo, 'POST', '/users', { email: `${name}@wardroom.demo`, name, role: 'user', password })) as {
        id: string
      }
    const gone = await make('Grace')
    await make('Ursula')
    const task = async (title: string, more: object) =>
      ((await call(demo, 'POST', '/tasks', { title, ...more })) as { key: string }).key
    const [hers, free] = [await task('Hers', { assignee_id: gone.id }), await task('Free', {})]
    await call(demo, 'PATCH', `/users/${gone.id}`, { active: false })
    const { context, page, complaints } = await opened(desktop, `/tasks?task=${free}`, {
      ...demo,
      email: 'ursula@wardroom.demo',
      password,
    })
    const choices = () => choicesOf(page.getByRole('complementary').getByLabel('Assigned to'))
    await expect.poll(choices).toContain('Ursula')
    expect(await choices()).not.toContain('Grace')
    await page.goto(`/tasks?task=${hers}`)
    await expect.poll(choices).toContain('Grace')
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Changes must appear for others without a reload.
describe('a board that two look at', () => {
  it('shows what the other does: create, move by keys, block, comment, finish', { tags: 'smoke' }, async () => {
    const look = desktop
    const one = await opened(look, '/tasks?view=board')
    const two = await opened(look, '/tasks?view=board')
    await column(two.page, 'To do').getByRole('article').first().waitFor()
    await two.page.getByText('Live', { exact: true }).waitFor()

    // By keyboard only.
    await one.page.locator('article').first().waitFor()
    await one.page.keyboard.press('c')
    await one.page.getByRole('textbox', { name: 'Title' }).fill('Write the runbook')
    await one.page.keyboard.press('Enter')
    await one.page.getByRole('heading', { name: 'Write the runbook' }).waitFor()
    await one.page.keyboard.press('Escape')
    await column(one.page, 'To do').getByText('Write the runbook').waitFor()

    // Someone else's new task is held back until the user shows it.
    const wait = two.page.getByRole('button', { name: 'Show 1 new item' })
    await wait.waitFor()
    expect(await column(two.page, 'To do').getByText('Write the runbook').count()).toBe(0)
    // The events contain the changed tasks, so from here on, nothing is requested.
    const requests: string[] = []
    two.page.on('request', r => {
      if (new URL(r.url()).pathname.startsWith('/api/v1/tasks')) requests.push(r.url())
    })
    await wait.click()
    await column(two.page, 'To do').getByText('Write the runbook').waitFor()

    const card = one.page.getByRole('link', { name: 'Write the runbook' })
    await card.focus()
    await one.page.keyboard.press(']')
    await column(two.page, 'In progress').getByText('Write the runbook').waitFor()
    await one.page.getByRole('button', { name: 'Undo' }).click()
    await column(two.page, 'To do').getByText('Write the runbook').waitFor()

    await card.click()
    await one.page.getByRole('button', { name: 'Mark as blocked' }).click()
    await one.page.getByLabel('Reason', { exact: true }).fill('No access to the machine')
    await one.page.keyboard.press('Enter')
    await two.page.getByText('No access to the machine').waitFor()
    await one.page.getByLabel('Write a comment').fill('Asked for **access**')
    await one.page.getByRole('button', { name: 'Add comment', exact: true }).click()
    await one.page.locator('strong', { hasText: 'access' }).waitFor()
    await one.page.getByRole('button', { name: 'Unblock' }).click()
    await choose(one.page.locator('aside').getByLabel('Status'), 'done')
    await column(two.page, 'Done').getByText('Write the runbook').waitFor()
    expect(requests).toEqual([])
    expect([...one.complaints, ...two.complaints]).toEqual([])
    await one.context.close()
    await two.context.close()
  })

  it('keeps the order that somebody gives it with the pointer and with the menu', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks?view=board')
    const titles = (name: string) => column(page, name).getByRole('article').getByRole('link').allTextContents()
    const card = (name: string, n: number) => column(page, name).getByRole('article').nth(n)
    const drag = (n: number) => card('To do', n).dragTo(card('In progress', 1), { targetPosition: { x: 60, y: 8 } })
    await card('To do', 0).waitFor()
    const all = await titles('To do')
    const [first = '', second = ''] = all
    // Undo restores the position.
    await drag(1)
    await expect.poll(async () => (await titles('In progress')).indexOf(second)).toBe(1)
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(async () => (await titles('To do')).filter(t => all.includes(t))).toEqual(all)
    await drag(0)
    await expect.poll(async () => (await titles('In progress')).indexOf(first)).toBe(1)
    await page.reload()
    await expect.poll(async () => (await titles('In progress')).indexOf(first)).toBe(1)
    const actions = card('In progress', 1).getByRole('button', { name: /^Actions/ })
    await actions.click()
    await page.getByRole('menuitem', { name: 'Move to bottom' }).click()
    await expect.poll(async () => (await titles('In progress')).at(-1)).toBe(first)
    await page.reload()
    await expect.poll(async () => (await titles('In progress')).at(-1)).toBe(first)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Keyboard users must not lose their place.
describe('the focus', () => {
  it('stays on a card that a key moves, also after its panel was closed', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks?view=board')
    const title = 'Drop support for the old export format'
    const card = page.getByRole('link', { name: title })
    await card.waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await column(page, 'Backlog')
      .getByRole('button', { name: /^Backlog: / })
      .focus()
    await page.keyboard.press('Tab')
    await expect.poll(focused).toBe(title)
    await page.keyboard.press(']')
    await column(page, 'To do').getByText(title).waitFor()
    await expect.poll(focused).toBe(title)
    await page.keyboard.press('[')
    await column(page, 'Backlog').getByText(title).waitFor()
    await expect.poll(focused).toBe(title)
    await page.keyboard.press('o')
    await page.locator('aside h2').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(focused).toBe(title)
    await page.keyboard.press(']')
    await column(page, 'To do').getByText(title).waitFor()
    await expect.poll(focused).toBe(title)
    await page.keyboard.press('[')
    await column(page, 'Backlog').getByText(title).waitFor()
    // The focus stays in the field when a card moves.
    await page.getByLabel('Search by key or title').focus()
    await call(demo, 'PATCH', '/tasks/TASK-1', { status: 'todo' })
    await column(page, 'To do').getByText(title).waitFor()
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Search by key or title')
    await call(demo, 'PATCH', '/tasks/TASK-1', { status: 'backlog' })
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Each key acts on the card as the previous key left it.
describe('a card that is moved faster than the service answers', () => {
  it('is where the last key has put it, here and at the service', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks?view=board')
    const title = 'Drop support for the old export format'
    let rest = 1_500 // the first change is slow, the others are not
    await page.route('**/api/v1/tasks/*', async route => {
      if (route.request().method() === 'PATCH') {
        const wait = rest
        rest = 0
        await new Promise(later => setTimeout(later, wait))
      }
      await route.continue()
    })
    const at = (name: string) => column(page, name).getByText(title).waitFor()
    await page.getByRole('link', { name: title }).focus()
    for (const [key, name] of [
      [']', 'To do'],
      ['[', 'Backlog'],
      [']', 'To do'],
      [']', 'In progress'],
    ] as const) {
      await page.keyboard.press(key)
      await at(name)
    }
    const status = async () => ((await call(demo, 'GET', '/tasks/TASK-1')) as { status: string }).status
    await expect.poll(status).toBe('in_progress')
    await page.waitForTimeout(2_000) // wait for the last responses and events
    expect(await status()).toBe('in_progress')
    await at('In progress')
    await page.unroute('**/api/v1/tasks/*')
    await call(demo, 'PATCH', '/tasks/TASK-1', { status: 'backlog' })
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Unsaved input must not be lost.
describe('what is half written', () => {
  it('outlives Escape: a comment, a description, a new task', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks?view=board&task=TASK-6')
    const comment = page.getByLabel('Write a comment')
    await comment.fill('Half a com')
    await page.keyboard.press('Escape')
    expect(await comment.inputValue()).toBe('Half a com')
    expect(await comment.evaluate(e => e === document.activeElement)).toBe(false)
    await page.getByRole('button', { name: 'Edit: Description' }).click()
    const description = page.locator('aside').getByLabel('Description')
    await description.fill('Half a description')
    await page.keyboard.press('Escape')
    expect(await description.inputValue()).toBe('Half a description')
    await page.keyboard.press('Escape')
    await page.locator('aside h2').waitFor({ state: 'detached' })
    await page.locator('[data-task="TASK-6"]:focus').waitFor()
    await page.keyboard.press('o')
    await expect.poll(() => comment.inputValue()).toBe('Half a com')
    expect(await description.inputValue()).toBe('Half a description')
    await page.locator('aside').getByRole('button', { name: 'Cancel' }).click()
    await comment.fill('Half a comment, now whole')
    await page.getByRole('button', { name: 'Add comment', exact: true }).click()
    await page.locator('aside li').getByText('Half a comment, now whole').waitFor()
    await expect.poll(() => comment.inputValue()).toBe('')
    await comment.focus()
    await page.keyboard.press('Escape')
    await page.locator('aside h2').waitFor({ state: 'detached' })

    await page.keyboard.press('c')
    const title = page.getByRole('textbox', { name: 'Title' })
    await title.fill('Half a title')
    await page.keyboard.press('Escape')
    const asked = page.getByRole('dialog', { name: 'Discard this task?' })
    await asked.waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await asked.getByRole('button', { name: 'Keep editing' }).click()
    await asked.waitFor({ state: 'detached' })
    expect(await title.inputValue()).toBe('Half a title')
    await expect.poll(() => title.evaluate(e => e === document.activeElement)).toBe(true)
    // Browser back closes the dialog without asking and keeps the draft.
    await page.goBack()
    await title.waitFor({ state: 'detached' })
    await page.keyboard.press('c')
    await expect.poll(() => title.inputValue()).toBe('Half a title')
    await page.keyboard.press('Escape')
    await asked.getByRole('button', { name: 'Discard task' }).click()
    await title.waitFor({ state: 'detached' })
    await page.keyboard.press('c')
    await expect.poll(() => title.inputValue()).toBe('')
    await page.keyboard.press('Escape')
    await title.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the board', () => {
  it('has limits of one’s own, and stays where it is when a task is opened', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks?view=board')
    await column(page, 'Review').getByRole('article').first().waitFor()
    const n = await column(page, 'Review').getByRole('article').count()
    await call(demo, 'POST', '/tasks', { title: 'One to look at', status: 'review' })
    await page.reload()
    await column(page, 'Review')
      .getByRole('button', { name: `Review: ${n + 1}. Set limit` })
      .click()
    await page.getByRole('spinbutton', { name: 'Limit for Review' }).fill(String(n))
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.keyboard.press('Enter')
    const over = column(page, 'Review').getByRole('button', { name: /, exceeded/ })
    await over.waitFor()
    await page.reload()
    await over.waitFor()
    expect(await over.textContent()).toBe(`${n + 1} / ${n}`)
    expect(await axeFaultsPassing(page)).toEqual([])
    // With filters on, the limit isn't checked.
    await page.goto('/tasks?view=board&q=One+to+look')
    await column(page, 'Review')
      .getByRole('button', { name: `Review: 1. The limit of ${n} applies to all tasks, even those the filters hide` })
      .waitFor()
    await page.goto('/tasks?view=board')
    await over.click()
    await page.getByRole('spinbutton', { name: 'Limit for Review' }).fill('')
    await page.keyboard.press('Enter')
    await over.waitFor({ state: 'detached' })

    const done = async () => column(page, 'Done').boundingBox()
    const before = await done()
    await page.getByRole('link', { name: 'November newsletter' }).click()
    await page.locator('aside h2').waitFor()
    const after = await done()
    const panel = await page.locator('aside', { hasText: 'Newsletter' }).boundingBox()
    expect(after?.y).toBe(before?.y)
    // The board scrolls to the column of the task, which stays wide enough to read.
    expect((after?.x ?? 0) + (after?.width ?? 0)).toBeLessThanOrEqual(panel?.x ?? 0)
    expect(after?.width).toBeGreaterThan(180)
    // The facts of a card are one line, however narrow it is.
    const facts = page.getByRole('article').filter({ hasText: 'Interview five customers' }).locator('p:has(> .key)')
    expect((await facts.boundingBox())?.height).toBeLessThan(18)
    const [approve, back] = await Promise.all(
      ['Approve', 'Send back'].map(name =>
        column(page, 'Review')
          .getByRole('button', { name: `${name}: TASK-3` })
          .boundingBox(),
      ),
    )
    expect(approve?.y).toBe(back?.y)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('tells in the table the whole day on which something was due', async () => {
    const { context, page } = await opened(desktop, '/tasks?view=table')
    const overdue = page.getByText(/^Overdue \d/).first()
    await overdue.waitFor()
    expect(await overdue.evaluate(e => e.scrollWidth <= e.clientWidth)).toBe(true)
    await context.close()
  })
})

describe('the palette', () => {
  it('finds a task, an agent and a place by keyboard', async () => {
    const { context, page, complaints } = await opened(looks['dark desktop'], '/')
    const find = async (text: string, option: string | RegExp) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill(text)
      await page.getByRole('option', { name: option }).first().waitFor()
      expect(await axeFaultsPassing(page)).toEqual([])
      await page.keyboard.press('Enter')
    }
    await find('task-7', /TASK-7/)
    await page.getByRole('heading', { name: 'Renew the signing certificate' }).waitFor()
    await find('cmo', /CMO/)
    await page.waitForURL('**/agents/cmo')
    await find('sched', /Schedules/)
    await page.waitForURL('**/schedules')
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.waitForURL('**/tasks')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})
