import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaultsPassing } from './axe.ts'
import { desktop, looks } from './browser.ts'
import { call, tokenOf } from './demo.ts'
import { choose } from './fields.ts'
import { demo, opened, setUp } from './fixture.ts'

setUp()

const column = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

// Keyboard users must not lose their place in a task.
describe('the focus', () => {
  it('stays in the panel when a decision by keyboard takes its button away', async () => {
    const { key } = (await call(demo, 'POST', '/tasks', { title: 'Renew the domain' })) as { key: string }
    await call(demo, 'PATCH', `/tasks/${key}`, { blocked: { reason: 'No card' } })
    const { context, page, complaints } = await opened(desktop, `/tasks?view=board&task=${key}`)
    const decide = page.locator('aside').getByRole('button', { name: 'Decide…' })
    await decide.waitFor()
    for (let i = 0; i < 4; i++) await page.keyboard.press('Tab')
    expect(await decide.evaluate(e => e === document.activeElement)).toBe(true)
    await page.keyboard.press('Enter')
    await page.getByLabel('Your decision').waitFor()
    await page.keyboard.type('Use mine.')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.locator('aside ol').getByText('Use mine.').waitFor()
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('ASIDE')
    await page.keyboard.press('Escape')
    await page.locator('aside h2').waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
    await context.close()
  })

  it('goes on at the end of a history that was read to its end by keyboard', async () => {
    const { key } = (await call(demo, 'POST', '/tasks', { title: 'Revise the estimate' })) as { key: string }
    const token = await tokenOf(demo)
    // The history needs more than one page.
    for (let n = 1; n <= 201; n++) {
      const answer = await fetch(`${demo.base}/api/v1/tasks/${key}`, {
        method: 'PATCH',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ title: `Revise the estimate, version ${n}` }),
      })
      expect(answer.status).toBe(200)
      await answer.body?.cancel()
    }
    const { context, page, complaints } = await opened(desktop, `/tasks?task=${key}`)
    const more = page.getByRole('button', { name: 'Load more' })
    await more.focus()
    await page.keyboard.press('Enter')
    const end = page.getByText('End of list')
    await end.waitFor()
    await expect.poll(() => end.evaluate(e => e === document.activeElement)).toBe(true)
    await page.getByRole('button', { name: /^202 changes/ }).click()
    await expect.poll(() => page.locator('aside ol ol > li').count()).toBe(202)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// A reader who closed a panel must not meet it again.
it.each([
  ['Tasks', 'Restore a backup to a new machine', 'task='],
  ['Schedules', 'Morning numbers', 'job='],
])('Back on %s does not open a closed panel again', async (place, name, opens) => {
  const { context, page, complaints } = await opened(desktop, '/inbox')
  await page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link', { name: new RegExp(`^${place}`) })
    .click()
  await page.locator('main').getByText(name, { exact: true }).first().click()
  const panel = page.locator('aside').getByRole('heading', { name })
  await panel.waitFor()
  expect(page.url()).toContain(opens)
  await page.keyboard.press('Escape')
  await panel.waitFor({ state: 'detached' })
  while (!page.url().includes('/inbox')) {
    await page.goBack()
    expect(page.url()).not.toContain(opens)
    expect(await panel.count()).toBe(0)
  }
  expect(complaints).toEqual([])
  await context.close()
})

describe('the ties of a task', () => {
  it('are made and taken away, and a circle is refused in words', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks?view=board&task=TASK-14')
    const panel = page.locator('aside')
    const waits = panel.getByRole('region', { name: 'Waiting for' })
    const adds = waits.getByRole('button', { name: /^Add task/ })
    await adds.focus()
    await page.keyboard.press('Enter')
    await page.keyboard.type('restore a back')
    await waits.getByRole('option', { name: /TASK-6/ }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.keyboard.press('Enter')
    await waits.getByRole('button', { name: 'Remove TASK-6' }).waitFor()
    await expect.poll(() => adds.evaluate(e => e === document.activeElement)).toBe(true)
    await column(page, 'To do')
      .getByRole('article')
      .filter({ hasText: 'Monthly cost report' })
      .getByText('Waiting for 1 task')
      .waitFor()
    await panel.getByRole('button', { name: /^Set parent/ }).click()
    await panel.getByRole('region', { name: 'Parent task' }).getByRole('combobox').fill('TASK-17')
    await panel.getByRole('option', { name: /TASK-17/ }).click()
    await panel.getByRole('button', { name: 'Remove TASK-17' }).waitFor()
    await choose(panel.getByLabel('Project'), 'Plans and prices')
    await expect
      .poll(async () => {
        const t = (await call(demo, 'GET', '/tasks/TASK-14')) as Record<string, unknown>
        return [t.depends_on, t.parent_id !== null, t.project_id !== null]
      })
      .toEqual([['TASK-6'], true, true])

    // The reverse dependency would be a cycle.
    await waits.getByRole('button', { name: /TASK-6 Restore/ }).click()
    await panel.getByRole('heading', { name: 'Restore a backup to a new machine' }).waitFor()
    await panel
      .getByRole('region', { name: 'Needed by' })
      .getByRole('button', { name: /TASK-14/ })
      .waitFor()
    await adds.click()
    await waits.getByRole('combobox').fill('TASK-14')
    await waits.getByRole('option', { name: /TASK-14/ }).waitFor()
    await page.keyboard.press('Enter')
    await waits
      .getByRole('alert')
      .getByText(/a cycle/)
      .waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints.filter(c => !c.includes('409'))).toEqual([])
    complaints.length = 0

    await page.goto('/tasks?view=board&task=TASK-14')
    // Quick changes must not conflict with each other.
    await page.route('**/api/v1/tasks/*', async route => {
      if (route.request().method() === 'PATCH') await new Promise(done => setTimeout(done, 1000))
      await route.continue()
    })
    await panel.getByRole('button', { name: 'Remove TASK-6' }).click()
    await panel.getByRole('button', { name: 'Remove TASK-17' }).click()
    await expect
      .poll(async () => {
        const t = (await call(demo, 'GET', '/tasks/TASK-14')) as Record<string, unknown>
        return [t.depends_on, t.parent_id]
      })
      .toEqual([[], null])
    await panel.getByRole('button', { name: /^\d+ changes/ }).click()
    await panel.getByText('Parent task: –').first().waitFor()
    expect(await panel.getByRole('region', { name: 'Activity' }).innerText()).not.toMatch(
      /[{}]|[0-9a-f]{8}-|depends_on|_id/,
    )
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Two people who edit one text must not overwrite each other unknowingly.
describe('a title that someone else changed meanwhile', () => {
  it('is reported, and saved over theirs only when saved again', async () => {
    const { key } = (await call(demo, 'POST', '/tasks', { title: 'Plan the offsite' })) as { key: string }
    const { context, page, complaints } = await opened(desktop, `/tasks?view=board&task=${key}`)
    const panel = page.locator('aside')
    await panel.getByRole('button', { name: 'Edit: Title' }).click()
    const title = panel.getByRole('textbox', { name: 'Title' })
    await title.fill('Plan the offsite in May')
    await call(demo, 'PATCH', `/tasks/${key}`, { title: 'Plan the retreat' })
    await title.press('Enter')
    await panel.getByRole('alert').getByText('Someone else changed this task.').waitFor()
    expect(await title.inputValue()).toBe('Plan the offsite in May')
    await title.press('Enter')
    await panel.getByRole('heading', { name: 'Plan the offsite in May' }).waitFor()
    expect(complaints.filter(c => !c.includes('412'))).toEqual([])
    await context.close()
  })
})

// On a phone the fields must not push the activity away, and there must be a way back.
describe('a task on a phone', () => {
  it('has its fields folded, and leads back to the board', async () => {
    const { context, page, complaints } = await opened(looks['light phone'], '/tasks?view=board&task=TASK-18')
    const panel = page.locator('aside')
    const priority = panel.getByRole('combobox', { name: 'Priority' })
    await panel.getByRole('region', { name: 'Activity' }).waitFor()
    expect(await priority.isVisible()).toBe(false)
    await panel.getByRole('button', { name: /^Details/ }).click()
    await choose(priority, 'high')
    await expect
      .poll(async () => ((await call(demo, 'GET', '/tasks/TASK-18')) as { priority: string }).priority)
      .toBe('high')
    expect(await axeFaultsPassing(page)).toEqual([])
    await panel.getByRole('button', { name: 'Close' }).click()
    await column(page, 'In progress').getByRole('article').first().waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('a task for an agent', () => {
  it('is handed over once, and shows how it went, what it cost, what was said and where', async () => {
    const made = (await call(demo, 'POST', '/tasks', { title: 'Count the open seats', assignee_id: 'cto' })) as {
      key: string
    }
    const { context, page, complaints } = await opened(desktop, `/tasks?view=board&task=${made.key}`)
    const panel = page.locator('aside')
    await panel.getByRole('button', { name: 'Send to CTO' }).click()
    await panel.getByLabel('Note for CTO').fill('Only the paid ones')
    expect(await axeFaultsPassing(page)).toEqual([])
    await panel.getByRole('button', { name: 'Send task' }).click()
    await panel.getByRole('region', { name: 'Latest update' }).getByText('Answered').waitFor()
    await panel.getByText(/^Cost .*tokens$/).waitFor()
    await page
      .locator('article')
      .filter({ hasText: 'Count the open seats' })
      .getByTitle('Cost')
      .waitFor({ state: 'attached' })
    const activity = panel.getByRole('region', { name: 'Activity' })
    const folds = activity.getByRole('button', { name: /^\d+ changes/ })
    await folds.first().waitFor()
    for (const fold of await folds.all()) await fold.click()
    await activity.getByText('recorded the end of the run: cto').waitFor()
    await activity.getByText('sent the task to its agent: cto').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await activity.getByRole('link', { name: 'Transcript' }).first().click()
    await page.waitForURL('**/sessions/agent%3Acto%3Atask%3A**')
    const begun = (await call(demo, 'GET', `/tasks/${made.key}/history`)) as { kind: string }[]
    expect(begun.filter(e => e.kind === 'task.dispatched').length).toBe(1)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Agents' texts must never run as markup or break the layout.
describe('hostile texts', () => {
  it('are shown as they are', async () => {
    const hostile =
      '<img src=x onerror="document.title=1"><script>document.title=2</script> \u202Egnp.exe [x](javascript:document.title=3) ![i](https://elsewhere.example/p.png)'
    const task = (await call(demo, 'POST', '/tasks', {
      title: hostile.replace('\u202E', '').slice(0, 150),
      description: `${hostile}\n\n${'x'.repeat(10_000)}`,
    })) as { key: string }
    await call(demo, 'PATCH', `/tasks/${task.key}`, { blocked: { reason: hostile } })
    await call(demo, 'POST', `/tasks/${task.key}/comments`, { body: hostile })
    const { context, page, complaints } = await opened(looks['light phone'], `/tasks?task=${task.key}`)
    await page.locator('aside h2').waitFor()
    await page.locator('aside ol li').first().waitFor()
    expect(await page.locator('aside img, aside script, aside [onerror]').count()).toBe(0)
    expect(await page.locator('aside a[href^="javascript"]').count()).toBe(0)
    expect(await page.title()).toBe(`${task.key} · Tasks · Wardroom`)
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})
