// Takes screenshots of every page in every look: `make pictures`.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'vitest'
import { looks, openBrowser, openPage, signIn } from './browser.ts'
import { call, type Demo, startDemo } from './demo.ts'
import { hold } from './run-standup.ts'

const folder = process.env.PICTURES ?? '../bin/pictures'
/** Name prefixes, to take only those. */
const only = process.env.ONLY

/** Name, path, and the selector to wait for. */
const places: [name: string, path: string, ready: string][] = [
  ['now', '/', 'main section li'],
  ['inbox', '/inbox', '[data-item]'],
  ['tasks-board', '/tasks?view=board', 'article'],
  ['tasks-table', '/tasks?view=table', '[role=row] button'],
  ['task', '/tasks?view=board&task=TASK-7', 'aside h2'],
  ['task-new', '/tasks?new=1', '[role=dialog] input'],
  ['agents', '/agents', 'main dl'],
  ['agent', '/agents/cto', 'main h3'],
  ['agent-connect', '/agents/cto?connect=1', '[role=dialog] h2'],
  ['standups', '/standups', 'main h2'],
  ['standups-transcript', '/standups?part=transcript', 'main h2'],
  ['sessions', '/sessions', 'main [role=listitem] a, main h2:not(.sr-only)'],
  ['sessions-archive', '/sessions?show=history', 'main [role=listitem] a, main h2:not(.sr-only)'],
  ['session', '', 'main [role=listitem]'],
  ['spend', '/spend', 'main h2'],
  ['spend-table', '/spend?show=table&by=model&period=today', 'main h2'],
  ['spend-limits', '/spend?part=limits', 'main h2'],
  ['spend-prices', '/spend?part=prices', 'main h2'],
  ['spend-price', '/spend?part=prices&price=new', '[role=dialog] input'],
  ['schedules', '/schedules', 'main h2:not(.sr-only), [role=row] [role=switch]'],
  ['schedules-standup', '/schedules?form=standup', '[role=dialog] input'],
  ['settings', '/settings', 'main a[href="/welcome"]'],
  ['settings-account', '/settings/account', 'main form'],
  ['settings-users', '/settings/users', '[data-user]'],
  ['settings-agents', '/settings/agents', '[data-agent]'],
  ['settings-gateway', '/settings/gateway', '#doctor [data-healthy=true]'],
  ['settings-projects', '/settings/projects', 'main h2'],
  ['settings-teams', '/settings/teams', '[data-team]'],
  ['settings-retention', '/settings/retention', '[data-policy]'],
  ['settings-audit', '/settings/audit', '[data-event]'],
  ['settings-health', '/settings/health', '[data-health]'],
  ['settings-keys', '/settings/agents?agent=coo', '[data-key]'],
  ['settings-user-new', '/settings/users?new=1', '[role=dialog] input'],
  ['welcome', '/welcome', 'section h3'],
  ['welcome-accounts', '/welcome?step=accounts', 'section h3'],
  ['welcome-standup', '/welcome?step=standup', 'section form'],
]

/** Returns the address of the longest task session with tool calls. */
async function longest(demo: Demo): Promise<string> {
  const rows = (await call(demo, 'GET', '/sessions?limit=200')) as { id: string; messages: number }[]
  const most = rows.reduce((a, b) => (b.messages > a.messages ? b : a))
  return `/sessions/${most.id}`
}

it('makes a picture of every place', { timeout: 300_000 }, async () => {
  await mkdir(folder, { recursive: true })
  const demo = await startDemo({ live: true, fresh: true }) // a first start adds a limit
  const browser = await openBrowser()
  try {
    if (!only || only.startsWith('standups')) await hold(demo)
    for (const [name, look] of Object.entries(looks)) {
      const { context, page, complaints } = await openPage(browser, demo.base, look)
      const shoot = async (what: string) =>
        page.screenshot({ path: join(folder, `${what}-${name.replace(' ', '-')}.png`) })
      await page.goto('/')
      await page.getByLabel('Email').waitFor()
      if (!only || only === 'login') await shoot('login')
      await signIn(page, demo)
      for (const [what, path, ready] of places) {
        if (only && !only.split(',').some(o => what.startsWith(o))) continue
        await page.goto(path || (await longest(demo)))
        await page.locator(ready).filter({ visible: true }).first().waitFor({ timeout: 60_000 })
        await page.waitForLoadState('domcontentloaded')
        await page.waitForTimeout(500)
        await shoot(what)
      }
      if (!only || only === 'palette') {
        await page.goto('/tasks')
        await page.locator('article').first().waitFor()
        await page.keyboard.press('Control+k')
        await page.getByRole('dialog').getByRole('combobox').fill('cert')
        await page.getByRole('option').nth(3).waitFor()
        await shoot('palette')
      }
      if (!only || only.startsWith('standups')) {
        await page.goto('/standups')
        await page.locator('#of-cmo').waitFor()
        await page.emulateMedia({ media: 'print' })
        await shoot('standups-print')
      }
      if (complaints.length > 0) console.error(name, complaints)
      await context.close()
    }
    console.log(`pictures are in ${folder}`)
  } finally {
    await browser.close()
    await demo.close()
  }
})
