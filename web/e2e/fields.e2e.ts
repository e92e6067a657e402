import { describe, expect, it } from 'vitest'
import { axeFaults } from './axe.ts'
import { desktop, sizes } from './browser.ts'
import { chosen } from './fields.ts'
import { opened, setUp } from './fixture.ts'

setUp()

// Selects and date fields must work without a mouse, like the native ones that they replace.
describe('the fields', () => {
  it.each(sizes)('are used by keyboard alone, %s', async (_, look) => {
    const { context, page, complaints } = await opened(look, '/settings/audit')
    const param = (name: string) => new URL(page.url()).searchParams.get(name)
    const actor = page.getByRole('combobox', { name: 'Actor' })
    const more = page.getByRole('button', { name: 'More filters' })
    if (await more.isVisible()) await more.click()
    await actor.focus()
    await page.keyboard.press('ArrowDown')
    await page.getByRole('option', { name: 'Anyone', selected: true }).and(page.locator(':focus')).waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await expect.poll(() => param('actor')).not.toBe(null)
    await page.getByRole('listbox').waitFor({ state: 'detached' })
    expect(await actor.evaluate(e => e === document.activeElement)).toBe(true)
    await page.keyboard.press('W')
    await expect.poll(() => chosen(actor)).toBe('system')
    await page.keyboard.press('Enter')
    await page.getByRole('listbox').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('listbox').waitFor({ state: 'detached' })

    const from = page.getByRole('textbox', { name: 'From' })
    await from.fill('31/1/2026')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Enter a day such as').waitFor()
    expect(param('since')).toBe(null)
    await from.fill('31 Jan 2026')
    await page.keyboard.press('Enter')
    await expect.poll(() => param('since')).toBe('2026-01-31')
    await page.keyboard.press('ArrowDown')
    await page.locator('[data-day="2026-01-31"]:focus').waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.keyboard.press('PageDown')
    await page.locator('[data-day="2026-02-28"]:focus').waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => param('since')).toBe('2026-02-28')
    await expect.poll(() => from.evaluate(e => e === document.activeElement)).toBe(true)
    expect(await from.inputValue()).toBe('28 Feb 2026')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('close without the dialog or panel around them', async () => {
    const { context, page, complaints } = await opened(desktop, '/settings/users?new=1')
    for (const [path, around, name] of [
      ['/settings/users?new=1', '[role=dialog]', 'Role'],
      ['/tasks?task=TASK-6', 'aside', 'Status'],
    ] as const) {
      await page.goto(path)
      const select = page.locator(around).getByRole('combobox', { name })
      const was = await chosen(select)
      await select.focus()
      await page.keyboard.press('Enter')
      await page.getByRole('listbox').waitFor()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Escape')
      await page.getByRole('listbox').waitFor({ state: 'detached' })
      await expect.poll(() => select.evaluate(e => e === document.activeElement)).toBe(true)
      expect(await chosen(select)).toBe(was)
      // A click on an open select closes it.
      await select.click()
      await page.getByRole('listbox').waitFor()
      await select.click()
      await page.getByRole('listbox').waitFor({ state: 'detached' })
    }
    const due = page.locator('aside').getByRole('textbox', { name: 'Due' })
    const opener = page.locator('aside').getByRole('button', { name: 'Choose a day' })
    await opener.click()
    await page.getByRole('grid').waitFor()
    await opener.click()
    await page.getByRole('grid').waitFor({ state: 'detached' })
    await due.press('ArrowDown')
    await page.getByRole('grid').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('grid').waitFor({ state: 'detached' })
    await due.waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})
