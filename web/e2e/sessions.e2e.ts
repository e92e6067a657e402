import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, looks, phone, sizes } from './browser.ts'
import { call } from './demo.ts'
import { choose } from './fields.ts'
import { demo, opened, setUp } from './fixture.ts'

const hostile =
  '<img src=x onerror="document.title=1"><script>document.title=2</script> [x](javascript:document.title=3)'

/** The key of a live session, in lowercase. */
let key: string
/** The ID of an archived session. */
let archived: string

/** Sends a task to an agent, which starts a session. */
async function dispatched(title: string): Promise<string> {
  const task = (await call(demo, 'POST', '/tasks', { title, assignee_id: 'cto', status: 'todo' })) as { key: string }
  const handed = (await call(demo, 'POST', `/tasks/${task.key}/dispatch`)) as { session_key: string }
  await until(() => there(handed.session_key), 60)
  return handed.session_key.toLowerCase()
}

/** vitest's poll works only within a test. */
async function until<T>(ask: () => Promise<T | undefined>, seconds: number): Promise<T> {
  for (const end = Date.now() + seconds * 1000; ; await new Promise(done => setTimeout(done, 250))) {
    const found = await ask()
    if (found !== undefined) return found
    if (Date.now() > end) throw new Error(`not within ${seconds} s`)
  }
}

const there = (of: string) => call(demo, 'GET', `/agentrt/sessions/${of.toLowerCase()}`).catch(() => undefined)

const tell = (of: string, text: string) => call(demo, 'POST', `/agentrt/sessions/${of}/messages`, { text })

setUp({
  timeout: 120_000,
  prepare: async () => {
    key = await dispatched('Prepare the release notes')
    // Job runs are archived within seconds and grouped under their job.
    const job = (await call(demo, 'POST', '/agentrt/jobs', {
      name: `Nightly zebra count ${hostile}`,
      agentId: 'cmo',
      schedule: { kind: 'cron', expr: '0 4 * * *', tz: 'UTC' },
      payload: { kind: 'agentTurn', message: `Count the zebras.\n\npassword=Tr0ub4dor&3 ${hostile}` },
    })) as { id: string }
    await call(demo, 'POST', `/agentrt/jobs/${job.id}/run`)
    archived = await until(history, 80)
  },
})

const history = async (): Promise<string | undefined> =>
  ((await call(demo, 'GET', '/sessions?q=zebra')) as { id: string; messages: number }[]).find(s => s.messages > 1)?.id

const rows = (page: Page) => page.locator('main [role=listitem]')
const steps = (page: Page) => page.locator('section[aria-label="Transcript"] [data-index]')
const live = (page: Page) => page.getByRole('banner').getByText('Live', { exact: true })

describe.each(sizes)('sessions, %s', (_, look) => {
  it('have no fault that axe knows: recent, archive, one, an archived one, none', async () => {
    const { context, page, complaints } = await opened(look, '/sessions')
    for (const [path, ready] of [
      ['/sessions', 'main [role=listitem] a'],
      ['/sessions?q=nothing-has-this-name', 'main h2:not(.sr-only)'],
      ['/sessions?show=history', 'main [role=listitem] a'],
      [`/sessions/${key}`, '[data-index]'],
      [`/sessions/${archived}`, '[data-index]'],
      ['/sessions/agent:cto:nobody-has-this', 'main h2'],
    ] as const) {
      await page.goto(path)
      await page.locator(ready).filter({ visible: true }).first().waitFor()
      expect(await axeFaults(page), path).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), path).toBe(true)
    }
    expect(complaints).toEqual([])
    await context.close()
  })
})

// The list must say what runs now, and let it be stopped, on every screen.
describe('the list', () => {
  it.each([
    ['1280 px', { theme: 'light', width: 1280, height: 800 }],
    ['360 px', phone],
  ] as const)(
    'has what is active on top, with a whole stop button, and moves it down when stopped: %s',
    async (_, look) => {
      const title = `Watch the queue at ${look.width} px`
      const mine = await dispatched(title)
      for (let i = 0; i < 8; i++) await tell(mine, `And **again**, ${i}`)
      const { context, page, complaints } = await opened(look, '/sessions')
      const row = rows(page).filter({ has: page.getByRole('link', { name: title }) })
      const stop = row.getByRole('button', { name: /^Stop session/ })
      const box = await stop.boundingBox()
      expect((box?.x ?? 0) + (box?.width ?? 9999)).toBeLessThanOrEqual(look.width)
      expect(await stop.evaluate(e => e.scrollWidth <= e.clientWidth)).toBe(true)
      expect(await row.innerText()).not.toContain('**')
      await stop.click()
      await page.getByRole('dialog').getByRole('button', { name: 'Stop session', exact: true }).click()
      await stop.waitFor({ state: 'detached' })
      await expect.poll(() => row.innerText()).toContain('Stopped')
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  it('never shows Markdown, folds the runs of a job, and filters behind one button', async () => {
    const { context, page, complaints } = await opened(desktop, '/sessions?kind=cron')
    await rows(page).getByRole('link').first().waitFor()
    expect(await page.locator('main').innerText()).not.toMatch(/\*\*|```/)
    const runs = page.getByRole('button', { name: /\d runs/ }).first()
    await runs.click()
    await page.waitForURL(/jobs=/)
    expect(await runs.getAttribute('aria-expanded')).toBe('true')
    await page.getByRole('button', { name: /^Filters/ }).click()
    await choose(page.getByLabel('Started by'), 'subagent')
    await page.waitForURL(/kind=subagent/)
    await expect.poll(() => rows(page).getByText('Started by Main session').count()).toBeGreaterThan(2)
    // The demo has no main session, so its name leads nowhere.
    expect(await rows(page).getByRole('link', { name: 'Main session' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Clear filters' }).first().click()
    await page.waitForURL(url => !url.search.includes('kind'))
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('a session', () => {
  it('is watched while it runs, spoken to and stopped', async () => {
    const mine = await dispatched('Count the open branches')
    const { context, page, complaints } = await opened(desktop, `/sessions/${mine}`)
    await live(page).waitFor()
    await steps(page).first().waitFor()

    // Wardroom's prompt is folded.
    const prompt = page.getByRole('button', { name: 'Instructions from Wardroom' })
    await prompt.waitFor()
    expect(await page.getByText('You are assigned task').count()).toBe(0)
    await prompt.click()
    await page.getByText('You are assigned task').waitFor()

    // Send by keyboard; the message is there at once, and the answer appears without a reload.
    await page.getByLabel('Message CTO').fill('How many **branches**?')
    await page.keyboard.press('Control+Enter')
    await steps(page).locator('strong', { hasText: 'branches' }).waitFor()
    expect(await page.getByLabel('Message CTO').inputValue()).toBe('')
    await steps(page).getByText('Read', { exact: true }).waitFor()
    const me = (await call(demo, 'GET', '/auth/me')) as { name: string }
    await page.reload()
    await steps(page).getByText(me.name, { exact: true }).waitFor()
    await page.locator('header').getByText('Idle').waitFor()
    await expect.poll(() => steps(page).count()).toBeGreaterThanOrEqual(4)

    // Runtime commands are refused at the field, which keeps its input.
    await page.getByLabel('Message CTO').fill('/reset')
    await page.getByRole('button', { name: 'Send message' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Message CTO').inputValue()).toBe('/reset')
    expect(await axeFaultsPassing(page)).toEqual([])

    // A failed message keeps its text.
    await page.route('**/messages', route =>
      route.request().method() === 'POST' ? route.fulfill({ status: 503, body: '{}' }) : route.fallback(),
    )
    await page.getByLabel('Message CTO').fill('Are you there?')
    await page.keyboard.press('Control+Enter')
    await steps(page).getByText('Not sent').waitFor()
    await page.unroute('**/messages')
    await page.getByRole('button', { name: 'Try again' }).click()
    await steps(page).getByText('Are you there?').waitFor()
    await expect.poll(() => steps(page).getByText('Not sent').count()).toBe(0)

    // Keep the agent busy: what it hasn't read is there, too. Then stop it.
    for (let i = 0; i < 8; i++) await tell(mine, `And again, ${i}`)
    await steps(page).getByText('Sent · not read by CTO yet').last().waitFor()
    await page.locator('header').getByRole('button', { name: 'Stop session' }).click()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Stop session', exact: true }).click()
    await page
      .getByText(/runs? stopped/)
      .first()
      .waitFor()
    await page
      .locator('header')
      .getByText(/Stopped|Idle/)
      .first()
      .waitFor()
    expect(complaints.filter(c => !/422|503/.test(c))).toEqual([])
    await context.close()
  })

  it('leaves alone who reads further up, and says how much is new', async () => {
    const mine = await dispatched('Read the logs')
    const { context, page, complaints } = await opened(phone, `/sessions/${mine}`)
    await live(page).waitFor()
    await steps(page).first().waitFor()
    const list = page.locator('section[aria-label="Transcript"]')
    for (let i = 0; i < 3; i++) await tell(mine, `Line ${i}\n${'- look here\n'.repeat(30)}`)
    // A view at the end stays at the end.
    await steps(page).getByText('Line 2').waitFor()
    const toEnd = () => list.evaluate(e => e.scrollHeight - e.scrollTop - e.clientHeight)
    await expect.poll(toEnd).toBeLessThan(60)
    await page.locator('header').getByText('Idle').waitFor()
    await list.evaluate(e => {
      e.scrollTop = Math.max(0, e.scrollHeight / 2)
    })
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor()
    const stood = await list.evaluate(e => e.scrollTop)
    await tell(mine, 'Something new')
    await page.getByRole('button', { name: /^[1-9] new$/ }).waitFor()
    expect(await list.evaluate(e => e.scrollTop)).toBe(stood)
    await page.getByRole('button', { name: /^[1-9] new$/ }).click()
    await steps(page).getByText('Something new').waitFor()
    await expect.poll(toEnd).toBeLessThan(60)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('is found by the words that were said, in the archive and by the palette', async () => {
    const { context, page, complaints } = await opened(desktop, '/sessions?show=history')
    await page.getByLabel('Search transcripts').fill('zebras')
    await page.waitForURL('**/sessions?show=history&q=zebras')
    await rows(page).getByRole('link').first().waitFor()
    await page.reload()
    await rows(page).getByRole('link').first().click()
    await page.waitForURL(`**/sessions/${archived}`)
    await steps(page).getByText('Count the zebras').waitFor()
    // The job's message contained a password.
    await page.getByText('redacted: password').first().waitFor()
    expect(await page.getByText('Tr0ub4dor').count()).toBe(0)

    await page.goto('/')
    await page.getByRole('navigation', { name: 'Pages' }).first().waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('zebras')
    await page
      .getByRole('option', { name: /zebra count/ })
      .first()
      .waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/sessions/${archived}`)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Users who may not stop agents see who may, instead of a button.
describe('a viewer', () => {
  it('goes through the sessions by keys, reads all of it, and why there is nothing to send or stop', async () => {
    const password = 'four random words are good'
    await call(demo, 'POST', '/users', { email: 'eve@example.com', name: 'Eve', password, role: 'user' })
    const { context, page, complaints } = await opened(desktop, '/sessions', {
      ...demo,
      email: 'eve@example.com',
      password,
    })
    await rows(page).getByRole('link').first().waitFor()
    await page.getByText('Only the owner and admins can send messages and stop sessions.').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    const focused = () => page.evaluate(() => document.activeElement?.closest('[data-row]') !== null)
    await expect.poll(focused).toBe(true)
    await page.goto(`/sessions/${key.toUpperCase()}`)
    await steps(page).first().waitFor()
    await page.getByText('Your role (user)').waitFor()
    expect(await page.getByLabel('Message CTO').count()).toBe(0)
    expect(await page.getByRole('button', { name: /^Stop/ }).count()).toBe(0)
    // The timeline is moved by keys.
    await page.getByRole('slider').press('Home')
    await page.getByText('Start of session', { exact: true }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

/** Returns generated message number n, for transcripts longer than those of demo agents. */
function madeUp(n: number): Record<string, unknown> {
  const at = new Date(Date.UTC(2026, 10, 20) + n * 1000).toISOString()
  const call = {
    type: 'tool_call',
    text: null,
    cut: 0,
    tool: {
      id: `call-${n}`,
      name: n % 4 ? 'exec' : `${hostile}`,
      status: 'done',
      is_error: n % 50 === 0,
      arguments: JSON.stringify({ command: `make unit # ${hostile}` }),
      arguments_cut: 0,
      result: `${hostile}\n[masked:jwt]`.repeat(5),
      result_cut: 12,
      ended_at: new Date(Date.parse(at) + 2000).toISOString(),
    },
  }
  const text = {
    type: 'text',
    cut: 0,
    tool: null,
    text: `Row ${n}. ${hostile}\n\n- one\n- two\n${'word '.repeat(n % 90)}`,
  }
  const user = n % 5 === 0
  return {
    id: `made-up-${n}`,
    seq: n,
    role: user ? 'user' : 'assistant',
    at,
    blocks: user || n % 5 === 3 ? [text] : [call],
    blocks_cut: 0,
    error: n % 400 === 1 ? hostile : null,
    run_id: null,
    sender: null,
    prompt: null,
    waiting: null,
    model: user ? null : 'demo/large',
    stop_reason: null,
    tokens: user ? null : { input: 1000, output: 50, cache_read: 0, cache_write: 0, other: 0 },
    cost_usd: user ? null : '0.012',
    origin: null,
  }
}

async function withMessages(page: Page, all: number): Promise<void> {
  await page.route(/\/agentrt\/sessions\/[^/]+\/messages/, async route => {
    const url = new URL(route.request().url())
    const end = Number(url.searchParams.get('cursor') ?? all)
    const from = Math.max(0, end - Number(url.searchParams.get('limit') ?? 100))
    const rows = Array.from({ length: end - from }, (_, i) => madeUp(from + i + 1))
    const link = from > 0 ? { Link: `<${url.pathname}?cursor=${from}>; rel="next"` } : {}
    await route.fulfill({ json: rows, headers: { ...link } })
  })
}

/** Returns the long tasks since the last call, in ms. */
const longTasks = (page: Page): Promise<number[]> =>
  page.evaluate(() => {
    const kept = globalThis as unknown as { longTasks: number[] }
    return kept.longTasks.splice(0)
  })

describe('a transcript', () => {
  it('of hostile texts is shown as they are, folded and opened', async () => {
    const { context, page, complaints } = await opened(looks['light phone'], '/sessions')
    await withMessages(page, 40)
    await page.goto(`/sessions/${key}`)
    await steps(page).last().waitFor()
    await page.getByRole('button', { name: /^exec/ }).last().click()
    await page.getByRole('group', { name: 'Result' }).first().waitFor()
    await page.getByText('redacted: jwt').first().waitFor()
    await page.getByText('12 characters omitted').first().waitFor()
    expect(await page.locator('main img, main script, main [onerror]').count()).toBe(0)
    expect(await page.locator('main a[href^="javascript"]').count()).toBe(0)
    expect(await page.title()).toMatch(/Sessions · Wardroom$/)
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    expect(await axeFaultsPassing(page)).toEqual([])
    // Names of jobs and sessions must be escaped, too.
    await page.goto('/sessions')
    await page.getByText('Nightly zebra count').first().waitFor()
    expect(await page.locator('main img, main script, main [onerror]').count()).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('has a timeline, shows how each call went, and is searched by keys', async () => {
    const { context, page, complaints } = await opened(desktop, '/sessions')
    await withMessages(page, 900)
    await page.goto(`/sessions/${key}`)
    await steps(page).last().waitFor()
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.locator('[data-kind=error]').first().waitFor()
    expect(await timeline.getByText(/\d\d:\d\d/).count()).toBeGreaterThan(0)
    await steps(page).getByText('OK', { exact: true }).last().waitFor()
    await steps(page).getByText('2 s', { exact: true }).last().waitFor()

    // All messages are searched, also those that are not loaded yet.
    await page.keyboard.press('Control+f')
    const field = page.getByLabel('Find in transcript')
    await expect.poll(() => field.evaluate(e => e === document.activeElement)).toBe(true)
    await field.fill('Row 50.')
    await page.locator('output', { hasText: /^1 of 1$/ }).waitFor()
    await steps(page)
      .getByText(/^Row 50\./)
      .waitFor()
    await field.fill('make unit')
    await page.locator('output', { hasText: /^(\d{2,}) of \1$/ }).waitFor() // not the 1 of 1 before
    await page.keyboard.press('Enter')
    await page.locator('output', { hasText: /^1 of/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.locator('output', { hasText: /^2 of/ }).waitFor()
    const marked = () => page.evaluate(() => [...(CSS.highlights.get('found-now') ?? [])].map(String))
    await expect.poll(marked).toEqual(['make unit'])
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.keyboard.press('Escape')
    expect(await field.count()).toBe(0)
    await expect.poll(() => page.evaluate(() => CSS.highlights.size)).toBe(0)

    // A click on the timeline goes to that time.
    await timeline.getByRole('slider').click({ position: { x: 3, y: 10 } })
    await page.getByText('Start of session', { exact: true }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('of 20,000 messages stays smooth, and is read as one scrolls', async () => {
    const { context, page, complaints } = await opened(desktop, '/sessions')
    await withMessages(page, 20_000)
    await page.goto(`/sessions/${key}`)
    await steps(page)
      .getByText(/^Row 19998\./)
      .waitFor()
    await page.evaluate(() => {
      const kept = globalThis as unknown as { longTasks: number[] }
      kept.longTasks = []
      new PerformanceObserver(list => {
        for (const e of list.getEntries()) kept.longTasks.push(e.duration)
      }).observe({ type: 'longtask' })
    })
    const list = page.locator('section[aria-label="Transcript"]')
    const began = Date.now()
    // Scroll to the start, loading everything in between.
    await list.evaluate(async e => {
      const first = () => e.querySelector('[aria-posinset="1"]')?.getAttribute('aria-setsize')
      while ((first() ?? '-1') === '-1') {
        e.scrollTop = 0
        await new Promise(done => setTimeout(done, 20))
      }
    })
    await page.getByText('Start of session', { exact: true }).waitFor()
    await steps(page)
      .getByText(/^Row 3\./)
      .waitFor()
    const reading = Date.now() - began
    const readLong = await longTasks(page)
    // Then scroll down like a mouse wheel, 300 px per frame.
    const frames = await list.evaluate(async e => {
      const took: number[] = []
      let last = performance.now()
      for (let n = 0; n < 400; n++) {
        e.scrollTop += 300
        await new Promise(requestAnimationFrame)
        const now = performance.now()
        took.push(now - last)
        last = now
      }
      took.sort((a, b) => a - b)
      return { median: took[200] ?? 0, most: took.at(-1) ?? 0 }
    })
    const wheelLong = await longTasks(page)
    const size = Number(await steps(page).first().getAttribute('aria-setsize'))
    const made = await steps(page).count()
    const told = (l: number[]) => `${l.length} tasks over 50 ms, the longest ${Math.round(Math.max(0, ...l))} ms`
    // Only reported, because machines differ.
    console.log(
      `transcript of 20,000 messages (${size} rows, ${made} of them in the page): read in ${Math.round(reading / 1000)} s, ${told(readLong)}; ` +
        `by the wheel: a frame in ${frames.median.toFixed(1)} ms, at most ${Math.round(frames.most)} ms, ${told(wheelLong)}`,
    )
    // 8,000 texts, and between them rows for the tool calls.
    expect(size).toBeGreaterThan(14_000)
    expect(made).toBeLessThan(80)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// An unavailable runtime must not look idle.
describe('without a gateway', () => {
  it('the live view says so and leads to the settings, and the archive goes on', async () => {
    const { context, page, complaints } = await opened(looks['dark desktop'], '/sessions?show=history')
    const away = {
      status: 503,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        status: 503,
        title: 'Wardroom could not reach the gateway.',
        code: 'gateway_unreachable',
        detail: 'Nobody answers there.',
      }),
    }
    await page.route(/\/api\/v1\/agentrt\/sessions/, route => route.fulfill(away))
    await page.goto('/sessions')
    await page.getByRole('heading', { name: 'Live sessions unavailable' }).waitFor()
    await page.getByText('Nobody answers there.').waitFor()
    await page.getByText('Sessions when the gateway last responded').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.goto(`/sessions/${key}`)
    await page.getByRole('link', { name: 'Open gateway settings' }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.getByRole('link', { name: 'Open archive' }).click()
    await rows(page).getByRole('link').first().click()
    await steps(page).first().waitFor()
    expect(complaints.filter(c => !c.includes('503'))).toEqual([])
    await context.close()
  })
})
