// Measures speed without asserting it, because results depend on the machine.
import type { Page } from 'playwright-core'
import { describe, it } from 'vitest'
import { desktop, openPage, signIn } from './browser.ts'
import { browser, demo, opened, setUp } from './fixture.ts'

setUp()

const tell = (what: string, ms: number) => console.log(`measured  ${what.padEnd(44)} ${ms.toFixed(0).padStart(6)} ms`)

/** Returns the largest contentful paint so far, in ms. */
const largestPaint = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<number>(done => {
        new PerformanceObserver(list => done(list.getEntries().at(-1)?.startTime ?? 0)).observe({
          type: 'largest-contentful-paint',
          buffered: true,
        })
        setTimeout(() => done(Number.NaN), 5_000)
      }),
  )

/** Reports the frame times of some work: median, 95th percentile, maximum, and the number of slow frames. */
async function frames(page: Page, what: string, work: () => Promise<void>): Promise<void> {
  await page.evaluate(() => {
    const times: number[] = []
    let last = performance.now()
    const look = (now: number) => {
      times.push(now - last)
      last = now
      if (Reflect.get(globalThis, 'framed') === times) requestAnimationFrame(look)
    }
    Reflect.set(globalThis, 'framed', times)
    requestAnimationFrame(look)
  })
  await work()
  const times = await page.evaluate(() => {
    const all = Reflect.get(globalThis, 'framed') as number[]
    Reflect.set(globalThis, 'framed', null)
    return all.slice(1)
  })
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN
  tell(`${what}: a frame, half of them`, at(0.5))
  tell(`${what}: a frame, 95 %`, at(0.95))
  tell(`${what}: the longest frame`, at(1))
  console.log(`measured  ${what}: ${times.filter(t => t > 50).length} of ${times.length} frames over 50 ms`)
}

const places = ['Now', 'Inbox', 'Agents', 'Sessions', 'Standups', 'Schedules', 'Spend', 'Settings', 'Tasks']

/** The durations of page changes in ms, by page. */
type Visits = Map<string, number[]>

/** Opens every page from the sidebar, hovering `rest` ms before each click. */
async function visitAll(page: Page, visits: Visits, rest: number): Promise<void> {
  const rail = page.getByRole('navigation', { name: 'Pages' }).first()
  for (const name of places) {
    await page.waitForTimeout(400)
    const link = rail.getByRole('link', { name: new RegExp(`^${name}`) })
    if (rest > 0) {
      await link.hover()
      await page.waitForTimeout(rest)
    }
    const ms = await page.evaluate(
      ([to, place]) =>
        new Promise<number>(done => {
          const from = performance.now()
          const look = () => {
            const there =
              document.title.includes(String(place)) && document.querySelector('main h1, main h2, main article')
            const path = new URL((to as HTMLAnchorElement).href).pathname
            if (location.pathname.startsWith(path) && there) requestAnimationFrame(() => done(performance.now() - from))
            else requestAnimationFrame(look)
          }
          ;(to as HTMLElement).click()
          look()
        }),
      [await link.elementHandle(), name] as const,
    )
    visits.set(name, [...(visits.get(name) ?? []), ms])
  }
}

/** Reports median and maximum. A single visit would mostly measure the machine. */
function tellVisits(how: string, visits: Visits): void {
  for (const [name, all] of visits) {
    const sorted = all.toSorted((a, b) => a - b)
    const half = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
    console.log(
      `measured  ${`to ${name}, ${how}`.padEnd(44)} ${half.toFixed(0).padStart(6)} ms, at most ${(sorted.at(-1) ?? half).toFixed(0)} ms`,
    )
  }
}

describe('how fast it is', () => {
  it('from a cold cache', async () => {
    const { context, page } = await openPage(browser, demo.base, desktop)
    await page.goto('/login')
    tell('largest paint, login, cold', await largestPaint(page))
    await signIn(page, demo)
    for (const path of ['/', '/tasks?view=board']) {
      await page.goto(path)
      await page.locator('main h1, main h2, article').first().waitFor()
      tell(`largest paint, ${path}, warm`, await largestPaint(page))
    }
    await context.close()
  })

  it('from place to place', { timeout: 300_000 }, async () => {
    const first: Visits = new Map()
    const again: Visits = new Map()
    const pointed: Visits = new Map()
    // With a cold cache each time, because a first visit loads the page's chunk.
    for (let round = 0; round < 5; round++) {
      const going = await opened(desktop, '/welcome')
      await going.page.waitForTimeout(2_000)
      await visitAll(going.page, first, 0)
      await visitAll(going.page, again, 0)
      await going.context.close()
      // With a mouse, the pointer hovers before the click, which prefetches.
      const pointing = await opened(desktop, '/welcome')
      await pointing.page.waitForTimeout(2_000)
      await visitAll(pointing.page, pointed, 200)
      await pointing.context.close()
    }
    tellVisits('first', first)
    tellVisits('again', again)
    tellVisits('first, pointed at', pointed)
  })

  it('with 5,000 tasks on the board', { timeout: 600_000 }, async () => {
    const login = await fetch(`${demo.base}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: demo.email, password: demo.password }),
    })
    const { token } = (await login.json()) as { token: string }
    const statuses = ['backlog', 'todo', 'in_progress', 'review', 'done']
    let next = 0
    const make = async () => {
      for (let n = next++; n < 5000; n = next++) {
        const answer = await fetch(`${demo.base}/api/v1/tasks`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
          body: JSON.stringify({
            title: `Task ${n} of many, with a title that takes a line and a half`,
            status: statuses[n % 5],
            priority: ['low', 'medium', 'high'][n % 3],
            tags: [`tag-${n % 7}`],
          }),
        })
        if (!answer.ok) throw new Error(await answer.text())
        await answer.body?.cancel()
      }
    }
    await Promise.all(Array.from({ length: 16 }, make))
    const { context, page } = await openPage(browser, demo.base, desktop)
    await page.goto('/login')
    await signIn(page, demo)
    const from = Date.now()
    await page.goto('/tasks?view=board')
    await page.locator('article').first().waitFor()
    tell('5,000 tasks: the first card', Date.now() - from)
    await page.waitForLoadState('networkidle').catch(() => undefined)
    const column = page.getByRole('region', { name: 'To do', exact: true })
    const box = await column.boundingBox()
    if (!box) throw new Error('there is no column')
    await page.mouse.move(box.x + 60, box.y + 200)
    await frames(page, '5,000 tasks: scrolling', async () => {
      for (let i = 0; i < 60; i++) {
        await page.mouse.wheel(0, 400)
        await page.waitForTimeout(30)
      }
    })
    await frames(page, '5,000 tasks: dragging', async () => {
      await page.mouse.move(box.x + 60, box.y + 200)
      await page.mouse.down()
      for (let i = 0; i < 60; i++) {
        await page.mouse.move(box.x + 60 + i * 12, box.y + 200 + (i % 10) * 12)
        await page.waitForTimeout(30)
      }
      await page.keyboard.press('Escape')
      await page.mouse.up()
    })
    await context.close()
  })
})
