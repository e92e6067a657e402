import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, looks, sizes } from './browser.ts'
import { call } from './demo.ts'
import { choose } from './fields.ts'
import { demo, opened, setUp } from './fixture.ts'

setUp()

const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>'

const row = (page: Page, text: string) => page.getByRole('listitem').filter({ hasText: text }).first()
const fits = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)

describe.each(sizes)('settings, %s', (_, look) => {
  it('have no fault that axe knows in any part', async () => {
    const { context, page, complaints } = await opened(look, '/settings')
    for (const [path, ready] of [
      ['/settings', 'main a[href="/welcome"]'],
      ['/settings/account', 'main form'],
      ['/settings/users', '[data-user]'],
      ['/settings/users?new=1', '[role=dialog] input'],
      ['/settings/users?q=nobody-has-this-name', 'main h2:has-text("No users match")'],
      ['/settings/agents?agent=coo', '[data-key]'],
      ['/settings/agents?account=%2B', '[role=dialog] input'],
      ['/settings/gateway', '#doctor [data-healthy=true]'],
      ['/settings/projects?new=1', '[role=dialog] input'],
      ['/settings/teams', '[data-team]'],
      ['/settings/teams?team=executive', '[role=dialog] input'],
      ['/settings/retention', '[data-policy]'],
      ['/settings/audit', '[data-event]'],
      ['/settings/audit?kind=prices.*', 'main h2:has-text("No entries match")'],
      ['/settings/health', '[data-health=database]'],
    ] as const) {
      await page.goto(path)
      await page.locator(ready).first().waitFor({ timeout: 90_000 })
      expect(await axeFaults(page), path).toEqual([])
      expect(await fits(page), path).toBe(true)
    }
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('users', () => {
  it('are created, changed and deactivated, and a second admin sees it as it happens', async () => {
    const one = await opened(desktop, '/settings/users')
    const two = await opened(desktop, '/settings/users')
    await row(two.page, demo.email).waitFor()
    await two.page.getByText('Live', { exact: true }).waitFor()

    // By keyboard only.
    await row(one.page, demo.email).waitFor()
    await one.page.keyboard.press('c')
    await one.page.getByRole('dialog').getByLabel('Email').fill('grace@example.com')
    await one.page.getByLabel('Name', { exact: true }).fill(hostile)
    await one.page.getByRole('button', { name: 'Generate password' }).focus()
    await one.page.keyboard.press('Enter')
    await one.page.getByRole('dialog').getByLabel('Email').focus()
    await one.page.keyboard.press('Enter')
    const shown = one.page.locator('[data-secret]')
    await shown.getByText('shown only once').waitFor()
    expect(await axeFaultsPassing(one.page)).toEqual([])
    const password = await shown.locator('code').nth(1).textContent()
    expect(password).toMatch(/^\w{24}$/)
    await shown.getByRole('button', { name: 'Close' }).click()
    await row(two.page, 'grace@example.com').getByText(hostile).waitFor()
    expect(await one.page.content()).not.toContain(password)
    expect(await one.page.locator('main img, main script').count()).toBe(0)

    // The generated password works.
    const grace = await opened(desktop, '/settings/account', {
      ...demo,
      email: 'grace@example.com',
      password: password ?? '',
    })
    await grace.page.getByLabel('Current password').first().fill('not the password')
    await grace.page.getByLabel('New password').first().fill('another four random words')
    await grace.page.getByRole('button', { name: 'Change password' }).click()
    await grace.page.getByRole('alert').waitFor()
    await grace.page
      .getByLabel('Current password')
      .first()
      .fill(password ?? '')
    await grace.page.getByRole('button', { name: 'Change password' }).click()
    await grace.page.getByText('Password changed.').first().waitFor()

    await grace.page.getByLabel('Name', { exact: true }).fill('Grace')
    await grace.page.getByRole('button', { name: 'Save' }).click()
    await row(two.page, 'grace@example.com').getByText('Grace', { exact: true }).waitFor()
    await row(one.page, 'grace@example.com').getByText('Grace', { exact: true }).waitFor()
    await row(one.page, 'grace@example.com').getByRole('button', { name: 'Edit Grace' }).click()
    const dialog = one.page.getByRole('dialog')
    expect(await dialog.getByLabel('Your password', { exact: true }).count()).toBe(0)
    await choose(dialog.getByLabel('Role'), 'admin')
    // Making someone an admin requires the user's own password.
    await dialog.getByLabel('Your password', { exact: true }).fill('not the password')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').getByText('The current password is wrong.').waitFor()
    expect(await axeFaultsPassing(one.page)).toEqual([])
    await dialog.getByLabel('Your password', { exact: true }).fill(demo.password)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row(two.page, 'grace@example.com').getByText('Admin', { exact: true }).waitFor()
    const menu = row(one.page, 'grace@example.com').getByRole('button', { name: /^Actions for/ })
    await menu.click()
    await one.page.getByRole('menuitem', { name: 'Deactivate' }).click()
    await dialog.getByLabel('Your password', { exact: true }).fill('not the password')
    await dialog.getByRole('button', { name: 'Deactivate' }).click()
    await dialog.getByRole('alert').getByText('The current password is wrong.').waitFor()
    await dialog.getByLabel('Your password', { exact: true }).fill(demo.password)
    await dialog.getByRole('button', { name: 'Deactivate' }).click()
    await row(two.page, 'grace@example.com').getByText('Deactivated').waitFor()
    await grace.page.getByText('Your account is deactivated.').waitFor()
    await menu.click()
    await one.page.getByRole('menuitem', { name: 'Reactivate' }).click()
    await dialog.getByLabel('Your password', { exact: true }).fill(demo.password)
    await dialog.getByRole('button', { name: 'Reactivate' }).click()
    await row(two.page, 'grace@example.com').getByText('Deactivated').waitFor({ state: 'detached' })
    expect([...one.complaints, ...two.complaints].filter(c => !c.includes('403'))).toEqual([])
    for (const { context } of [one, two, grace]) await context.close()
  })

  it('say what was refused beside the field', async () => {
    const { context, page } = await opened(desktop, '/settings/users?new=1')
    await page.getByRole('dialog').getByLabel('Email').fill(demo.email)
    await page.getByLabel('Password', { exact: true }).fill('four random words are good')
    await page.getByRole('dialog').getByRole('button', { name: 'Create user' }).click()
    await page.getByRole('alert').getByText('Another account already uses this email.').waitFor()
    await page.getByRole('dialog').getByLabel('Email').fill('short@example.com')
    await page.getByLabel('Password', { exact: true }).fill('short')
    await page.getByRole('dialog').getByRole('button', { name: 'Create user' }).click()
    await page.getByRole('alert').getByText(/12/).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    // Creating an admin requires the user's own password.
    await page.getByLabel('Password', { exact: true }).fill('four random words are good')
    expect(await page.getByLabel('Your password', { exact: true }).count()).toBe(0)
    await choose(page.getByRole('dialog').getByLabel('Role'), 'admin')
    await page.getByLabel('Your password', { exact: true }).fill('not the password')
    await page.getByRole('dialog').getByRole('button', { name: 'Create user' }).click()
    await page.getByRole('alert').getByText('The current password is wrong.').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.getByLabel('Your password', { exact: true }).fill(demo.password)
    await page.getByRole('dialog').getByRole('button', { name: 'Create user' }).click()
    await page.locator('[data-secret]').waitFor()
    await context.close()
  })

  it('who may not see it are told who may', async () => {
    await call(demo, 'POST', '/users', {
      email: 'reader@example.com',
      role: 'user',
      password: 'four random words are good',
    })
    const reader = { email: 'reader@example.com', password: 'four random words are good' }
    const { context, page, complaints } = await opened(desktop, '/settings/users', { ...demo, ...reader })
    for (const part of ['users', 'agents', 'gateway', 'retention', 'audit']) {
      await page.goto(`/settings/${part}`)
      await page.getByRole('heading', { name: 'Your role doesn’t allow this' }).waitFor()
      await page
        .getByText(/Only the owner and admins can (open|use|run|change)/)
        .first()
        .waitFor()
      expect(await axeFaultsPassing(page), part).toEqual([])
    }
    // Parts that everyone may read.
    await page.goto('/settings/gateway')
    await page.getByText('2 connections', { exact: true }).click()
    for (const connection of ['start_runs', 'manage']) {
      await page.locator(`[data-connection=${connection}]`).getByText('Connected', { exact: true }).waitFor()
    }
    await page.goto('/settings/health')
    await page.getByText('Responds within 1 second').waitFor()
    await page.goto('/settings/account')
    await page.getByLabel('Name', { exact: true }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

// A key must be shown only once, and stop working when revoked.
describe('the key of an agent', () => {
  it('is shown once, works, and does not work when it is revoked', async () => {
    const { context, page, complaints } = await opened(desktop, '/settings/agents')
    await page.getByRole('button', { name: 'Keys for COO' }).click()
    await page.waitForURL('**/settings/agents?agent=coo')
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill(hostile)
    await page.keyboard.press('Enter')
    const shown = page.locator('[data-secret]')
    const key = (await shown.locator('code').first().textContent()) ?? ''
    expect(key).toMatch(/^wrk_/)
    expect(await axeFaultsPassing(page)).toEqual([])
    const ask = () => fetch(`${demo.base}/api/v1/auth/me`, { headers: { Authorization: `Bearer ${key}` } })
    expect((await ask()).status).toBe(200)
    await shown.getByRole('button', { name: 'I saved the key' }).click()
    const listed = page.locator('[data-key]').filter({ hasText: hostile })
    const revoke = listed.getByRole('button', { name: /^Revoke/ })
    await revoke.waitFor()
    expect(await page.content()).not.toContain(key)
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(key)
    await page.reload()
    await revoke.waitFor()
    expect(await page.content()).not.toContain(key)
    expect(await page.locator('main img, main script').count()).toBe(0)

    await revoke.click()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke key', exact: true }).click()
    await listed.getByText('Revoked', { exact: true }).waitFor()
    expect((await ask()).status).toBe(401)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is for an account that is made here, with a password that nobody sees', async () => {
    const { context, page, complaints } = await opened(desktop, '/settings/agents?account=%2B')
    await page.getByLabel('Agent ID', { exact: true }).fill('cfo')
    await page.keyboard.press('Enter')
    await page.locator('[data-agent=cfo]').getByText('No valid key').waitFor()
    await page.getByRole('button', { name: 'Keys for cfo' }).click()
    await page.getByText('No keys yet.').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Names must never run as markup or break the layout.
describe('hostile texts', () => {
  it('are shown as they are, on a phone too', async () => {
    const agent = 'a'.repeat(64)
    const name = `${hostile}${'x'.repeat(100 - hostile.length)}`
    const made = (await call(demo, 'POST', '/users', {
      email: `${'e'.repeat(60)}@${'d'.repeat(60)}.${'d'.repeat(60)}.example`,
      name,
      role: 'agent',
      agent_id: agent,
      password: 'four random words are good',
    })) as { id: string }
    await call(demo, 'POST', `/users/${made.id}/keys`, { name })
    await call(demo, 'POST', '/teams', { key: 'hostile', name, facilitator: agent, participants: ['cto'] })
    const { context, page, complaints } = await opened(looks['light phone'], '/settings/users')
    for (const path of [
      '/settings/users?role=agent',
      `/settings/users?role=agent&user=${made.id}`,
      `/settings/agents?agent=${agent}`,
      '/settings/teams',
      '/settings/audit?kind=key.*',
      '/settings/audit?kind=user.*',
    ]) {
      await page.goto(path)
      await page.locator('li, [role=dialog]').filter({ hasText: hostile }).first().waitFor()
      expect(await page.locator('main img, main script, main [onerror], [role=dialog] [onerror]').count(), path).toBe(0)
      expect(await fits(page), path).toBe(true)
      expect(await axeFaultsPassing(page), path).toEqual([])
    }
    expect(await page.title()).toBe('Audit · Settings · Wardroom')
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the audit', () => {
  it('is filtered by its address, shows before and after, and is a CSV', async () => {
    await call(demo, 'POST', '/users', {
      email: 'audited@example.com',
      name: 'Was',
      role: 'user',
      password: 'four random words',
    })
    await call(demo, 'PATCH', '/users/audited@example.com', {
      name: '=cmd()',
      role: 'admin',
      current_password: demo.password,
    })
    const { context, page, complaints } = await opened(desktop, '/settings/audit?kind=user.*')
    const changed = page.locator('[data-event="user.changed"]').first()
    await changed.getByRole('button').click()
    await changed.getByRole('cell', { name: '=cmd()' }).waitFor()
    await changed.getByRole('cell', { name: 'Was' }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(await page.locator('[data-event^="login"]').count()).toBe(0)
    await page.reload()
    await changed.getByRole('cell', { name: 'Was' }).waitFor()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV', exact: true }).click(),
    ])
    expect(file.suggestedFilename()).toMatch(/^audit-.*\.csv$/)
    const pieces: Buffer[] = []
    for await (const piece of await file.createReadStream()) pieces.push(piece as Buffer)
    const csv = Buffer.concat(pieces).toString()
    expect(csv[0]).toBe('\ufeff')
    expect(csv).toContain('user.changed')
    expect(csv).not.toContain('login.succeeded')

    // New entries are held back until the user shows them.
    await page.getByText('Live', { exact: true }).waitFor()
    await call(demo, 'PATCH', '/users/audited@example.com', { name: 'Now' })
    await page.getByRole('button', { name: 'Show 1 new item' }).click()
    await page.locator('[data-event="user.changed"]').nth(1).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

// A lost laptop must be able to be signed out from elsewhere.
describe('the signed-in devices', () => {
  it('are signed out one by one and all at once, and stop at once', async () => {
    const account = { email: 'devices@example.com', password: 'four random words are good' }
    await call(demo, 'POST', '/users', { ...account, role: 'user' })
    const own = { ...demo, ...account }
    // Another spelling of the email is another sign-in.
    const laptop = await opened(desktop, '/tasks', { ...own, email: 'Devices@example.com' })
    const other = await opened(desktop, '/tasks', { ...own, email: 'DEVICES@example.com' })
    const { context, page, complaints } = await opened(desktop, '/settings/account', own)
    const list = page.getByRole('region', { name: 'Signed-in devices' })
    await expect.poll(() => list.getByRole('listitem').count()).toBe(3)
    await list.locator('[data-device=current]').getByText('This device').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await list
      .getByRole('button', { name: /^Sign out (?!other devices)/ })
      .last()
      .click()
    await laptop.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await expect.poll(() => list.getByRole('listitem').count()).toBe(2)

    await list.getByRole('button', { name: 'Sign out other devices' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 other device is signed out').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Sign out' }).click()
    await other.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await expect.poll(() => list.getByRole('listitem').count()).toBe(1)

    await list.getByRole('button', { name: 'Sign out this device' }).click()
    await dialog.getByText('No other device is signed in.').waitFor()
    const token = await page.evaluate(() => localStorage.getItem('wardroom.token'))
    await dialog.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    const ask = () => fetch(`${demo.base}/api/v1/auth/me`, { headers: { Authorization: `Bearer ${token}` } })
    expect((await ask()).status).toBe(401)
    expect(complaints.filter(c => !c.includes('401'))).toEqual([])
    for (const one of [laptop, other]) await one.context.close()
    await context.close()
  })
})

describe('the retention', () => {
  it('is changed where it is shown, after the page says what goes earlier', { tags: 'smoke' }, async () => {
    const { context, page, complaints } = await opened(desktop, '/settings/retention')
    const dialog = page.getByRole('dialog')
    const activity = page.locator('[data-setting=ACTIVITY_LOG_RETENTION_DAYS]')
    await activity.getByRole('button', { name: /7 days$/ }).click()
    await dialog.getByLabel('Days', { exact: true }).fill('90')
    await dialog.getByText('7 days → 90 days').waitFor()
    await dialog.locator('[data-preview]').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.keyboard.press('Enter')
    await activity.getByRole('button', { name: /90 days$/ }).click()
    await dialog.getByLabel('Days', { exact: true }).fill('1')
    await dialog.locator('[data-preview=earlier]').getByText('This can’t be undone.').waitFor()
    await dialog.getByRole('button', { name: 'Delete earlier' }).click()
    await activity.getByRole('button', { name: /: 1 day$/ }).waitFor()
    await page.goto('/settings')
    await page.getByRole('link', { name: 'Activity 1 day ·' }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('says what would go, and lets it go when it is asked twice', async () => {
    const { context, page, complaints } = await opened(desktop, '/settings/retention')
    await page.locator('[data-policy]').first().waitFor()
    await page.getByRole('button', { name: /^Purge [\d,]+ items? now/ }).click()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Purge [\d,]+ items?$/ })
      .click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the projects', () => {
  it('are made, changed and put into the archive, and filter the board', async () => {
    const { context, page, complaints } = await opened(desktop, '/settings/projects')
    await page.getByRole('button', { name: 'New project' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill(hostile)
    await dialog.getByLabel('Key', { exact: true }).fill('launch')
    await page.keyboard.press('Enter')
    const row = page.locator('[data-project=LAUNCH]')
    await row.getByText(hostile).waitFor()
    await row.getByRole('button', { name: 'Edit project' }).click()
    await dialog.getByLabel('Name', { exact: true }).fill('Launch')
    await dialog.getByLabel('Description').fill('All for the first of March.')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText('All for the first of March.').waitFor()
    await row.getByRole('link', { name: 'Show tasks of Launch' }).click()
    await expect.poll(() => new URL(page.url()).search).toContain('project=LAUNCH')
    await page.goBack()
    await row.getByRole('button', { name: 'Edit project Launch' }).click()
    await dialog.getByRole('button', { name: 'Archive project' }).click()
    await row.getByText('Archived').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the teams', () => {
  it('are made, changed and put into the archive', async () => {
    const { context, page, complaints } = await opened(desktop, '/settings/teams?new=1')
    await page.getByLabel('Key', { exact: true }).fill('design')
    await page.getByLabel('Name', { exact: true }).fill('Design')
    await page.getByLabel('Facilitator').fill('coo')
    await page.getByLabel('Participants').fill('cto, cpo')
    await page.keyboard.press('Enter')
    await page.locator('[data-team=design]').getByText('CPO').waitFor()
    await page.getByRole('button', { name: 'Edit team Design' }).click()
    await page.getByLabel('Answer timeout').fill('90s')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page
      .locator('[data-team=design]')
      .getByText(/90.s|1.min 30.s/)
      .waitFor()
    await page.getByRole('button', { name: 'Edit team Design' }).click()
    await page.getByRole('button', { name: 'Archive team' }).click()
    await page.locator('[data-team=design]').getByText('Archived').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})
