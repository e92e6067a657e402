import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { faults, type Look, looks, openBrowser, openPage } from './house.ts'

let browser: Browser
let child: ChildProcess
let folder: string
let link: string

// A service that nobody owns yet, as somebody has it who has just started it.
beforeAll(async () => {
  browser = await openBrowser()
  folder = await mkdtemp(join(tmpdir(), 'wardroom-setup-'))
  child = spawn(resolve(process.env.WARDROOM_BINARY ?? '../bin/wardroom'), ['serve'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      PORT: '0',
      HOST: '127.0.0.1',
      JWT_SECRET: 'a secret for the tests of the browser, long enough',
      DATABASE_URL: `sqlite://${join(folder, 'wardroom.db')}`,
    },
  })
  link = await new Promise<string>((resolve, reject) => {
    let said = ''
    child.stderr?.on('data', (piece: Buffer) => {
      said += piece.toString()
      const found = /(http:\/\/\S+\/setup#\S+)/.exec(said)?.[1]
      if (found) resolve(found)
    })
    child.once('exit', code => reject(new Error(`serve ended with ${code}:\n${said}`)))
    setTimeout(() => reject(new Error(`serve shows no link:\n${said}`)), 30_000).unref()
  })
})
afterAll(async () => {
  await browser?.close()
  if (child?.exitCode === null) {
    const ended = new Promise(done => child.once('exit', done))
    child.kill('SIGTERM')
    await ended
  }
  if (folder) await rm(folder, { recursive: true, force: true })
})

// The first minute decides whether somebody stays.
describe('the first start', () => {
  it('is told at the login, and its link makes the owner, once', async () => {
    const base = new URL(link).origin
    const { context, page, complaints } = await openPage(browser, base, looks['light desktop'] as Look)
    await page.goto('/')
    await page.getByText('Nobody owns this service yet').waitFor()
    expect(await faults(page)).toEqual([])

    await page.goto(link)
    await page.getByLabel('One-time token').waitFor()
    expect(page.url()).toBe(`${base}/setup`)
    expect(await faults(page)).toEqual([])
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password', { exact: true }).fill('short')
    await page.getByRole('button', { name: 'Create the owner' }).click()
    await page.getByRole('alert').first().waitFor()
    expect(await faults(page)).toEqual([])
    complaints.length = 0 // the browser tells of the 422 itself
    await page.getByLabel('Password', { exact: true }).fill('four random words are good')
    await page.getByRole('button', { name: 'Create the owner' }).click()
    await page.getByRole('navigation', { name: 'Places' }).first().waitFor()
    await page.goto('/tasks')
    await page.getByRole('heading', { name: 'The board is empty' }).waitFor()
    expect(await faults(page)).toEqual([])
    await page.getByText('No gateway').waitFor()
    expect(complaints.filter(c => !/422/.test(c))).toEqual([])

    await page.goto(link)
    await page.getByText('This service has an owner already.').waitFor()
    await context.close()
  })
})
