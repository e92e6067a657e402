import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, isWhole, looks, phone, sizes } from './browser.ts'
import { call } from './demo.ts'
import { choose, chosen } from './fields.ts'
import { demo, opened, setUp } from './fixture.ts'

interface Job {
  id: string
  name: string
  enabled: boolean
  description: string
  schedule: { expr: string }
}

setUp()

const make = (name: string, more: object = {}) =>
  call(demo, 'POST', '/agentrt/jobs', {
    name,
    agentId: 'cto',
    schedule: { expr: '0 7 * * 1', tz: 'America/New_York' },
    payload: { message: 'Write the weekly report.\nSend nothing to anybody.' },
    ...more,
  }) as Promise<Job>

const read = (id: string) => call(demo, 'GET', `/agentrt/jobs/${id}`) as Promise<Job>
const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

// A job that failed or missed a run must be found at once, and started from where it is found.
describe('a job with trouble', () => {
  it('comes first, with its reason and a button, and the counts show only such jobs', async () => {
    await make('calm')
    const { context, page, complaints } = await opened(desktop, '/schedules')
    await row(page, 'calm').waitFor()
    const names = () =>
      page.locator('[data-row] [data-task]').evaluateAll(all => all.map(e => e.getAttribute('data-task')))
    const failing = page.getByRole('button', { name: '1 failing' })
    await failing.waitFor()
    expect((await names())[0]).toBe('Check the backup')
    await row(page, 'Check the backup').locator('bdi', { hasText: 'no clean machine available' }).waitFor()
    await failing.click()
    await page.waitForURL('**show=failing**')
    await expect.poll(names).toEqual(['Check the backup'])
    await page.getByRole('button', { name: '1 missed in 24 h' }).click()
    await expect.poll(names).toEqual(['Morning numbers'])
    await row(page, 'Morning numbers').locator('bdi', { hasText: 'The runtime did not start it' }).waitFor()
    await row(page, 'Morning numbers').getByRole('button', { name: 'Run now' }).click()
    await page.getByText('Morning numbers started').waitFor()
    // It is no longer missed once it has succeeded.
    await page.getByText('None missed in 24 h').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is told of on top of its panel, with its runs, their length and their cost', async () => {
    const jobs = (await call(demo, 'GET', '/agentrt/jobs')) as Job[]
    const id = jobs.find(j => j.name === 'Check the backup')?.id
    const { context, page, complaints } = await opened(desktop, `/schedules?job=${id}`)
    const panel = page.locator('aside[aria-label="Check the backup"]')
    const trouble = panel.getByRole('region', { name: 'Last failure' })
    await trouble.getByText('no clean machine available').waitFor()
    await panel
      .getByText(/^\d+ (s|min) · \$0\.\d+$/)
      .first()
      .waitFor()
    await trouble.getByRole('link', { name: 'Open run' }).click()
    await page.waitForURL('**/sessions/**')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('can be one that runs once', async () => {
    const { context, page, complaints } = await opened(desktop, '/schedules?form=new')
    const dialog = page.getByRole('dialog', { name: 'New job' })
    await dialog.getByLabel('Name', { exact: true }).fill('move the office')
    await choose(dialog.getByLabel('Runs'), 'once')
    await dialog.getByLabel('Day', { exact: true }).fill('2099-06-01')
    await dialog.getByLabel('Time', { exact: true }).fill('09:30')
    await dialog.getByText('Mon 1 Jun, 09:30').waitFor()
    await choose(dialog.getByLabel('Agent', { exact: true }), 'cto')
    await dialog.getByLabel('Message to the agent').fill('Move.')
    await dialog.getByRole('button', { name: 'Create job' }).click()
    const panel = page.locator('aside[aria-label="move the office"]')
    await panel.getByText(/^Once, .*1 Jun 2099, 09:30/).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the daily standup', () => {
  it('is added from the template, run at once, and its run is told of', async () => {
    const jobs = (await call(demo, 'GET', '/agentrt/jobs')) as Job[]
    for (const j of jobs) await call(demo, 'DELETE', `/agentrt/jobs/${j.id}`)
    const { context, page, complaints } = await opened(desktop, '/schedules')
    await page.getByRole('heading', { name: 'No scheduled jobs yet' }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])

    // By keyboard only.
    await page.getByRole('button', { name: 'Schedule daily standup' }).focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Schedule daily standup' })
    await dialog.getByText('on weekdays at 09:00').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    // The form of the times is chosen by its first letters.
    await dialog.getByLabel('Runs').focus()
    await page.keyboard.type('cu')
    await dialog.getByLabel('Cron expression').fill('nine')
    await dialog.getByRole('alert').first().waitFor()
    await dialog.getByLabel('Cron expression').fill('30 8 * * 1-5')
    await dialog.getByText('on weekdays at 08:30').waitFor()
    await expect.poll(() => dialog.getByRole('alert').count()).toBe(0)
    await dialog.getByLabel('Time zone').fill('toky')
    await page.getByRole('option', { name: 'Asia/Tokyo' }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.keyboard.press('Enter')
    expect(await dialog.getByLabel('Time zone').inputValue()).toBe('Asia/Tokyo')
    await dialog.getByText('Next runs, in your time (Europe/Berlin)').waitFor()
    await page.keyboard.press('Enter')

    await page.getByRole('heading', { name: 'daily-standup' }).waitFor()
    const panel = page.locator('aside[aria-label="daily-standup"]')
    await panel.getByText('WARDROOM_API_KEY', { exact: true }).waitFor()
    await panel.getByText('On weekdays at 08:30 in Asia/Tokyo').waitFor()
    await page.getByRole('button', { name: 'Schedule daily standup' }).waitFor({ state: 'detached' })

    await panel.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('daily-standup started').waitFor()
    await panel.getByRole('tab', { name: 'Runs', exact: true }).click()
    await panel.getByText('manual', { exact: true }).waitFor()
    await expect.poll(async () => ((await call(demo, 'GET', '/standups')) as unknown[]).length).toBeGreaterThan(0)
    expect(complaints.filter(c => !c.includes('422'))).toEqual([])
    await context.close()
  })
})

// A change must not silently overwrite another one.
describe('a job', () => {
  it('is changed after its difference was seen, also when somebody was faster', async () => {
    const job = await make('weekly-report')
    const { context, page, complaints } = await opened(looks['dark desktop'], `/schedules?job=${job.id}`)
    const panel = page.locator('aside[aria-label="weekly-report"]')
    await panel.getByRole('button', { name: 'Edit job' }).click()
    const dialog = page.getByRole('dialog', { name: 'Edit weekly-report' })
    // The expression fits a form, so it opens there.
    expect(await chosen(dialog.getByLabel('Runs'))).toBe('weekly')
    await dialog.getByLabel('Time', { exact: true }).fill('10:00')
    await dialog.getByText('on Mondays at 10:00').waitFor()
    await dialog.getByLabel('Message to the agent').fill('Write the weekly report.\nTell the COO.')
    await dialog.getByRole('button', { name: 'Review changes' }).click()
    await dialog.getByRole('cell', { name: '0 7 * * 1', exact: true }).waitFor()
    await dialog.getByRole('cell', { name: '0 10 * * 1', exact: true }).waitFor()
    await dialog.getByText('Send nothing to anybody.').waitFor()
    await dialog.getByText('Tell the COO.').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])

    await call(demo, 'PATCH', `/agentrt/jobs/${job.id}`, {
      description: 'For the board',
      schedule: { expr: '0 6 * * 1' },
    })
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.getByText('Someone else changed this job').waitFor()
    await dialog.getByRole('cell', { name: '0 6 * * 1', exact: true }).waitFor()
    // A field that only the other user changed has their value both in the current job and in the result.
    await expect.poll(() => dialog.getByRole('cell', { name: 'For the board' }).count()).toBe(2)
    expect(await axeFaultsPassing(page)).toEqual([])
    expect((await read(job.id)).schedule.expr).toBe('0 6 * * 1')
    await dialog.getByRole('button', { name: 'Overwrite with my version' }).click()
    await page.getByText('weekly-report saved').waitFor()
    const now = await read(job.id)
    expect([now.schedule.expr, now.description]).toEqual(['0 10 * * 1', 'For the board'])
    await panel.getByText('on Mondays at 10:00').waitFor()
    expect(complaints.filter(c => !c.includes('409'))).toEqual([])
    await context.close()
  })

  it('is switched off and on again, seen by another, and deleted after a question', async () => {
    const job = await make('nightly-backup-check')
    const one = await opened(desktop, '/schedules')
    const two = await opened(desktop, '/schedules')
    await row(two.page, job.name).waitFor()
    await two.page.getByText('Live', { exact: true }).waitFor()
    const mine = one.page.getByRole('switch', { name: `Enable ${job.name}` })
    const theirs = two.page.getByRole('switch', { name: `Enable ${job.name}` })
    await mine.click()
    await expect.poll(() => theirs.getAttribute('aria-checked')).toBe('false')
    expect((await read(job.id)).enabled).toBe(false)
    await one.page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => theirs.getAttribute('aria-checked')).toBe('true')

    await one.page.getByRole('button', { name: `Actions for ${job.name}` }).click()
    await one.page.getByRole('menuitem', { name: 'Delete job' }).click()
    await one.page.getByRole('dialog', { name: `Delete ${job.name}?` }).waitFor()
    await one.page.keyboard.press('Escape')
    await row(one.page, job.name).waitFor()
    await one.page
      .getByRole('button', { name: `Actions for ${job.name}` })
      .first()
      .click()
    await one.page.getByRole('menuitem', { name: 'Delete job' }).click()
    expect(await axeFaultsPassing(one.page)).toEqual([])
    await one.page.getByRole('button', { name: 'Delete job' }).click()
    await expect.poll(() => row(two.page, job.name).count()).toBe(0)
    // The page may notice the deletion before it closes the job, which is harmless.
    expect([...one.complaints, ...two.complaints].filter(c => !c.includes('404'))).toEqual([])
    await one.context.close()
    await two.context.close()
  })

  it('has a dot for its slot as soon as that is over, without a reload', async () => {
    await make('each-minute', { schedule: { expr: '* * * * *' } })
    const { context, page, complaints } = await opened(desktop, '/schedules')
    await row(page, 'each-minute').getByText('every minute').waitFor()
    await row(page, 'each-minute')
      .getByRole('img', { name: /Last slots: .*on time/ })
      .waitFor({ timeout: 100_000 })
    await row(page, 'each-minute').getByText('Succeeded').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is shown to those who may not change it, and says who may', async () => {
    const user = { email: 'reader@wardroom.demo', password: 'somebody who only reads' }
    await call(demo, 'POST', '/users', { ...user, name: 'Reader', role: 'user' })
    const job = await make('for-readers')
    const { context, page, complaints } = await opened(phone, `/schedules?job=${job.id}`, { ...demo, ...user })
    const panel = page.locator('aside[aria-label="for-readers"]')
    await panel.getByText('Only the owner and admins can create, change, and run jobs.').waitFor()
    expect(await panel.getByRole('switch').isDisabled()).toBe(true)
    expect(await panel.getByRole('button', { name: 'Run now' }).count()).toBe(0)
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is made, with words for when it runs', { tags: 'smoke' }, async () => {
    const { context, page, complaints } = await opened(looks['light phone'], '/schedules')
    await page.goto('/schedules?form=new')
    const dialog = page.getByRole('dialog', { name: 'New job' })
    const name = dialog.getByLabel('Name', { exact: true })
    await name.fill('<b>hourly</b> \u202Elook')
    await choose(dialog.getByLabel('Runs'), 'minutes')
    await choose(dialog.getByLabel('Every', { exact: true }), '20')
    await dialog.getByText('every 20 minutes').waitFor()
    await choose(dialog.getByLabel('Agent', { exact: true }), 'cmo')
    await dialog.getByLabel('Message to the agent').fill('Look at the inbox.')
    await dialog.getByLabel('On', { exact: true }).uncheck()
    // A name with a text direction override is refused, and the form keeps its input.
    await dialog.getByRole('button', { name: 'Create job' }).click()
    await dialog.getByText('text-direction character').waitFor()
    await name.fill('<b>hourly</b> look')
    expect(await dialog.getByText('text-direction character').count()).toBe(0)
    await dialog.getByRole('button', { name: 'Create job' }).click()
    await page.locator('aside h2', { hasText: '<b>hourly</b>' }).waitFor()
    expect(await page.locator('aside h2 b').count()).toBe(0)
    await page.locator('aside dd').getByText('Off', { exact: true }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints.filter(c => !c.includes('422'))).toEqual([])
    await context.close()
  })

  it('makes a task in each run, which leads back to it', async () => {
    const job = await make('weekly numbers')
    const { context, page, complaints } = await opened(desktop, `/schedules?job=${job.id}&form=edit`)
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Task for each run').fill('Collect the numbers')
    await choose(dialog.getByLabel('Priority of the task'), 'high')
    expect(await axeFaultsPassing(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Review changes' }).click()
    await dialog.getByRole('cell', { name: 'Collect the numbers' }).waitFor()
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    const panel = page.locator('aside[aria-label="weekly numbers"]')
    await panel.getByText('Collect the numbers').waitFor()
    await call(demo, 'POST', `/agentrt/jobs/${job.id}/run`)
    await page.goto('/tasks?view=table&q=Collect+the+numbers')
    await page.getByRole('button', { name: 'Collect the numbers' }).first().click()
    await page.locator('aside').getByRole('link', { name: 'weekly numbers' }).click()
    await panel.getByText('Collect the numbers').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe.each(sizes)('schedules, %s', (_, look) => {
  it('have no fault that axe knows: the table, a job with its tabs, the forms', async () => {
    const job = await make(`look-${look.theme}-${look.width}`)
    const { context, page, complaints } = await opened(look, '/schedules')
    for (const [path, ready] of [
      ['/schedules', '[role=row] [role=switch]'],
      ['/schedules?show=failing', 'main h2'],
      [`/schedules?job=${job.id}`, 'aside [role=tabpanel]'],
      [`/schedules?job=${job.id}&tab=slots`, 'aside [role=tabpanel]'],
      [`/schedules?job=${job.id}&form=edit`, '[role=dialog] input'],
      [`/schedules?job=${job.id}&form=delete`, '[role=dialog] button'],
      ['/schedules?form=new', '[role=dialog] input'],
      ['/schedules?form=standup', '[role=dialog] input'],
      ['/schedules?job=none', 'aside h2'],
    ] as const) {
      await page.goto(path)
      await page.locator(ready).first().waitFor()
      expect(await axeFaults(page), path).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), path).toBe(true)
    }
    if (look.width < 600) {
      await page.goto('/schedules')
      expect(await isWhole(page, 'Schedules')).toBe(true)
    }
    expect(complaints.filter(c => !c.includes('404'))).toEqual([])
    await context.close()
  })
})
