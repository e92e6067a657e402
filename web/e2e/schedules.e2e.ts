import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsNightly } from './axe.ts'
import { desktop, isWhole, looks, phone, sizes } from './browser.ts'
import { call } from './demo.ts'
import { choose } from './fields.ts'
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

describe('the daily standup', () => {
  it('is added from the template, run at once, and its run is told of', async () => {
    const jobs = (await call(demo, 'GET', '/agentrt/jobs')) as Job[]
    for (const j of jobs) await call(demo, 'DELETE', `/agentrt/jobs/${j.id}`)
    const { context, page, complaints } = await opened(desktop, '/schedules')
    await page.getByRole('heading', { name: 'No scheduled jobs yet' }).waitFor()
    expect(await axeFaultsNightly(page)).toEqual([])

    // By keyboard only.
    await page.getByRole('button', { name: 'Add daily standup' }).focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Daily standup' })
    await dialog.getByText('on weekdays at 09:00').waitFor()
    expect(await axeFaultsNightly(page)).toEqual([])
    await dialog.getByLabel('Cron expression').fill('nine')
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').first().waitFor()
    await dialog.getByLabel('Cron expression').fill('30 8 * * 1-5')
    await dialog.getByText('on weekdays at 08:30').waitFor()
    await dialog.getByLabel('Time zone').fill('Asia/Tokyo')
    await page.keyboard.press('Enter')

    await page.getByRole('heading', { name: 'daily-standup' }).waitFor()
    const panel = page.locator('aside[aria-label="daily-standup"]')
    await panel.getByText('WARDROOM_API_KEY', { exact: true }).waitFor()
    await panel.getByRole('columnheader', { name: 'Time in Asia/Tokyo' }).waitFor()
    await panel.getByRole('columnheader', { name: 'Your time (Europe/Berlin)' }).waitFor()
    await expect.poll(() => panel.getByRole('row').count()).toBe(11)
    await page.getByRole('button', { name: 'Add daily standup' }).waitFor({ state: 'detached' })

    await panel.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('daily-standup started').waitFor()
    await panel.getByRole('tab', { name: 'Runs', exact: true }).click()
    await panel.getByText('manual', { exact: true }).waitFor({ timeout: 60_000 })
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
    await dialog.getByLabel('Cron expression').fill('0 10 * * 1')
    await dialog.getByLabel('Message to the agent').fill('Write the weekly report.\nTell the COO.')
    await dialog.getByRole('button', { name: 'Review changes' }).click()
    await dialog.getByRole('cell', { name: '0 7 * * 1', exact: true }).waitFor()
    await dialog.getByRole('cell', { name: '0 10 * * 1', exact: true }).waitFor()
    await dialog.getByText('Send nothing to anybody.').waitFor()
    await dialog.getByText('Tell the COO.').waitFor()
    expect(await axeFaultsNightly(page)).toEqual([])

    await call(demo, 'PATCH', `/agentrt/jobs/${job.id}`, {
      description: 'For the board',
      schedule: { expr: '0 6 * * 1' },
    })
    await dialog.getByRole('button', { name: 'Save changes' }).click()
    await dialog.getByText('Someone else changed this job').waitFor()
    await dialog.getByRole('cell', { name: '0 6 * * 1', exact: true }).waitFor()
    // A field that only the other user changed has their value both in the current job and in the result.
    await expect.poll(() => dialog.getByRole('cell', { name: 'For the board' }).count()).toBe(2)
    expect(await axeFaultsNightly(page)).toEqual([])
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
    await expect.poll(() => theirs.getAttribute('aria-checked'), { timeout: 10_000 }).toBe('false')
    expect((await read(job.id)).enabled).toBe(false)
    await one.page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => theirs.getAttribute('aria-checked'), { timeout: 10_000 }).toBe('true')

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
    expect(await axeFaultsNightly(one.page)).toEqual([])
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
    expect(await axeFaultsNightly(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is made, with words for when it runs', async () => {
    const { context, page, complaints } = await opened(looks['light phone'], '/schedules')
    await page.goto('/schedules?form=new')
    const dialog = page.getByRole('dialog', { name: 'New job' })
    const name = dialog.getByLabel('Name', { exact: true })
    await name.fill('<b>hourly</b> \u202Elook')
    await dialog.getByLabel('Cron expression').fill('*/20 * * * *')
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
    await page.locator('aside').getByText('No upcoming runs').waitFor()
    expect(await axeFaultsNightly(page)).toEqual([])
    expect(complaints.filter(c => !c.includes('422'))).toEqual([])
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
      [`/schedules?job=${job.id}`, 'aside table'],
      [`/schedules?job=${job.id}&tab=slots`, 'aside [role=tabpanel]'],
      [`/schedules?job=${job.id}&tab=runs`, 'aside [role=tabpanel]'],
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
