import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axeFaults } from './axe.ts'
import { desktop, openBrowser, openPage } from './browser.ts'
import { openService, type Service } from './service.ts'

let browser: Browser
let service: Service

// A freshly started server without an owner.
beforeAll(async () => {
  browser = await openBrowser()
  service = await openService()
})
afterAll(async () => {
  await browser?.close()
  await service?.close()
})

describe('the first start', () => {
  it('is told at the login, and its link makes the owner, once', async () => {
    const { base, link } = service
    const { context, page, complaints } = await openPage(browser, base, desktop)
    await page.goto('/')
    await page.getByText('No owner yet').waitFor()
    expect(await axeFaults(page)).toEqual([])

    await page.goto(link)
    await page.getByLabel('One-time token').waitFor()
    expect(page.url()).toBe(`${base}/setup`)
    expect(await axeFaults(page)).toEqual([])
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password', { exact: true }).fill('short')
    await page.getByRole('button', { name: 'Create owner account' }).click()
    await page.getByRole('alert').first().waitFor()
    expect(await axeFaults(page)).toEqual([])
    complaints.length = 0 // the browser logged the 422
    await page.getByLabel('Password', { exact: true }).fill('four random words are good')
    await page.getByRole('button', { name: 'Create owner account' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).first().waitFor()
    await page.goto('/tasks')
    await page.getByRole('heading', { name: 'No tasks yet' }).waitFor()
    expect(await axeFaults(page)).toEqual([])
    await page.getByText('No gateway').waitFor()
    expect(complaints.filter(c => !/422/.test(c))).toEqual([])

    await page.goto(link)
    await page.getByText('Wardroom already has an owner.').waitFor()
    await context.close()
  })
})
