import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { desktop, type Look } from './browser.ts'
import { call, startDemo } from './demo.ts'
import { demo, opened, setUp } from './fixture.ts'
import { layoutFaults } from './layout.ts'
import { type Place, placesOf } from './places.ts'

/** The run that the test starts lasts until its end. */
setUp({
  open: () => startDemo({ work: 3600 }),
  prepare: async () => {
    const task = { title: 'Compare the prices of three providers', assignee_id: 'cto', status: 'todo' }
    const { key } = (await call(demo, 'POST', '/tasks', task)) as { key: string }
    await call(demo, 'POST', `/tasks/${key}/dispatch`)
  },
})

/** Opens places and returns what does not fit, with the place and width before each line. */
async function visit(page: Page, places: readonly Place[], widths: readonly number[]): Promise<string[]> {
  const faults: string[] = []
  const height = page.viewportSize()?.height ?? 0
  for (const [name, path, ready] of places) {
    await page.goto(path)
    for (const width of widths) {
      await page.setViewportSize({ width, height })
      await page.locator(ready).filter({ visible: true }).first().waitFor()
      for (const fault of await layoutFaults(page)) faults.push(`${name}, ${width} px: ${fault}`)
    }
  }
  return faults
}

// A control that is cut off can't be used, and a text that is covered can't be read.
describe('every place', () => {
  it.each<[string, Look, number[]]>([
    ['a desk', desktop, [1440, 1280]],
    ['a phone', { theme: 'dark', width: 390, height: 844 }, [390]],
  ])('fits the screen of %s, while an agent works', async (_, look, widths) => {
    const { context, page, complaints } = await opened(look, '/sessions')
    await page
      .getByRole('button', { name: /^Stop session/ })
      .first()
      .waitFor()
    expect(await visit(page, await placesOf(demo), widths)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})
