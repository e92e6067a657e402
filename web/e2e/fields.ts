import type { Locator } from 'playwright-core'

/** Opens a select and picks a choice by its value or name. */
export async function choose(select: Locator, choice: string): Promise<void> {
  await select.click()
  const page = select.page()
  await page
    .locator(`[role=option][data-choice="${choice}"]`)
    .or(page.getByRole('option', { name: choice || '-', exact: true }))
    .click()
}

/** Returns the value of a select. */
export const chosen = (select: Locator): Promise<string | null> => select.getAttribute('data-value')

/** Opens a select, returns the names of its choices, and closes it. */
export async function choicesOf(select: Locator): Promise<string[]> {
  await select.click()
  const options = select.page().getByRole('option')
  await options.first().waitFor()
  const names = await options.locator('bdi').allTextContents()
  await select.page().keyboard.press('Escape')
  await options.first().waitFor({ state: 'detached' })
  return names
}
