// Takes screenshots of every page in every look: `make pictures`.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'vitest'
import { looks, openBrowser, openPage, signIn } from './browser.ts'
import { startDemo } from './demo.ts'
import { placesOf } from './places.ts'
import { hold } from './run-standup.ts'

const folder = process.env.PICTURES ?? '../bin/pictures'
/** Name prefixes, to take only those. */
const only = process.env.ONLY

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
      for (const [what, path, ready] of await placesOf(demo)) {
        if (only && !only.split(',').some(o => what.startsWith(o))) continue
        await page.goto(path)
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
