import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, it, vi } from 'vitest'
import { axeFaults, axeFaultsPassing } from './axe.ts'
import { desktop, looks, sizes } from './browser.ts'
import { csvTotal, readCsv } from './csv.ts'
import { call } from './demo.ts'
import { choose } from './fields.ts'
import { demo, opened, setUp } from './fixture.ts'

const viewer = { email: 'viewer@example.com', password: 'four random words again' }

setUp({
  prepare: async () => {
    await call(demo, 'POST', '/users', { ...viewer, name: 'Viewer', role: 'user' })
    await spend()
  },
})

/** Spends something: runs a standup and sends a task. */
async function spend(): Promise<void> {
  const { id } = (await call(demo, 'POST', '/standups', {})) as { id: string }
  await call(demo, 'POST', `/standups/${id}/run`, {})
  const [task] = (await call(demo, 'GET', '/tasks?assignee=cto&status=todo')) as { key: string }[]
  await call(demo, 'POST', `/tasks/${task?.key}/dispatch`, {})
  const tasks = async () =>
    ((await call(demo, 'GET', '/usage?group=task')) as { groups: { key: string }[] }).groups.map(g => g.key)
  const patience = { timeout: 50_000, interval: 1_000 }
  await vi.waitFor(async () => expect(await tasks()).toContain(task?.key), patience)
  const ended = async () => ((await call(demo, 'GET', `/standups/${id}`)) as { status: string }).status
  await vi.waitFor(async () => expect(await ended()).toBe('completed'), patience)
}

/** Converts dollars to nano-dollars. */
function nano(usd: string | null): bigint {
  const [whole = '0', rest = ''] = (usd ?? '0').replace('-', '').split('.')
  const size = BigInt(whole) * 1_000_000_000n + BigInt(rest.padEnd(9, '0'))
  return usd?.startsWith('-') ? -size : size
}

const total = async (page: Page) => nano(await page.locator('[data-total] data').getAttribute('value'))

async function column(page: Page, table: string, id: string): Promise<bigint[]> {
  const cells = page.getByRole('table', { name: table, exact: true }).locator(`tbody [data-col="${id}"] data`)
  return (await cells.evaluateAll(list => list.map(c => c.getAttribute('value')))).map(nano)
}

const sum = (list: readonly bigint[]) => list.reduce((a, b) => a + b, 0n)

async function download(page: Page, name: string): Promise<string> {
  await page.getByRole('button', { name: 'Options' }).click()
  const item = page.getByRole('menuitem', { name, exact: true })
  const [file] = await Promise.all([page.waitForEvent('download'), item.click()])
  return readFile(await file.path(), 'utf8')
}

const price = { provider: 'demo', model: 'demo-1', from: '2026-11-01', input: '3', output: '15', cache_read: '0.3' }
const table = [{ ...price, cache_write: '3.75', other: '0' }]

describe.each(sizes)('spend, %s', (_, look) => {
  it('has no fault that axe knows: chart, table, nothing, prices, a price', async () => {
    await call(demo, 'PUT', '/prices', { prices: table })
    const { context, page, complaints } = await opened(look, '/spend')
    for (const [path, ready] of [
      ['/spend', '[data-bar]'],
      ['/spend?period=today&by=source&measure=tokens', '[data-bar]'],
      ['/spend?show=table&by=task&period=month', '[data-col=cost]'],
      ['/spend?period=days&from=2020-01-01&to=2020-01-02', 'main h2'],
      ['/spend?part=prices', '[data-col=input]'],
      ['/spend?part=prices&price=new', '[role=dialog] input'],
    ] as const) {
      await page.goto(path)
      await page.locator(ready).first().waitFor()
      expect(await axeFaults(page), path).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), path).toBe(true)
    }
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Cut-off columns must be indicated, and sessions must have readable names.
describe('a table that is wider than the screen', () => {
  it('says where there is more, is scrolled by keyboard, and calls sessions by their names', async () => {
    const { context, page, complaints } = await opened(looks['light phone'], '/spend')
    await page.setViewportSize({ width: 320, height: 640 })
    const scroller = page.locator('section[tabindex="0"]', {
      has: page.getByRole('table', { name: 'Most expensive sessions', exact: true }),
    })
    await scroller.waitFor()
    const frame = scroller.locator('xpath=..')
    const more = (side: string) => frame.locator(`[data-more=${side}]`)
    await more('right').waitFor()
    expect(await more('left').count()).toBe(0)
    await scroller.focus()
    await page.keyboard.press('ArrowRight')
    await more('left').waitFor()
    await scroller.evaluate(e => e.scrollTo({ left: e.scrollWidth }))
    await expect.poll(() => more('right').count()).toBe(0)

    const names = scroller.getByRole('rowheader').locator('bdi')
    await expect.poll(async () => (await names.allTextContents()).join('\n')).toMatch(/^TASK-\d+ \p{L}+/mu)
    for (const name of await names.allTextContents()) expect(name).not.toMatch(/agent:|[0-9a-f]{8}-[0-9a-f]{4}/)
    const link = scroller.getByRole('rowheader').first().getByRole('link')
    expect(await link.getAttribute('title')).toMatch(/^agent:/)
    await link.click()
    await page.waitForURL('**/sessions/agent*')
    expect(complaints).toEqual([])
    await context.close()
  })
})

// All views must show the same numbers.
describe('the numbers', () => {
  it('are the same in the header, the chart, both tables and the files', async () => {
    const { context, page, complaints } = await opened(desktop, '/spend?show=table')
    await page.locator('[data-total] data').waitFor()
    // A run may end between two readings, so compares again until all values are of the same moment.
    await expect
      .poll(async () => {
        const whole = await total(page)
        const groups = sum(await column(page, 'By agent', 'cost'))
        const bars = sum(await column(page, 'Over time, by agent', 'whole'))
        return whole > 0n && groups === whole && bars === whole
      })
      .toBe(true)
    await expect
      .poll(async () => {
        const file = await download(page, 'By agent')
        return csvTotal(file) - (await total(page))
      })
      .toBe(0n)
    const [head = [], ...rows] = readCsv(await download(page, 'By agent'))
    expect(head.slice(0, 2)).toEqual(['agent', 'runs'])
    const names = page.getByRole('table', { name: 'By agent', exact: true }).locator('tbody tr')
    expect(await names.evaluateAll(list => list.map(r => r.getAttribute('data-row')))).toEqual(
      rows.map(r => `=${r[0]}`),
    )
    await expect
      .poll(async () => {
        return csvTotal(await download(page, 'Over time')) - (await total(page))
      })
      .toBe(0n)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('of what has no price are said and not counted as nothing', async () => {
    const { context, page, complaints } = await opened(desktop, '/spend')
    await page.route(/\/api\/v1\/usage\?/, async route => {
      const answer = await route.fetch()
      const report = (await answer.json()) as {
        total: object
        series: object[]
        groups: object[]
        bars: { groups: object[] }[]
      }
      const none = (of: object) => ({ ...of, cost_usd: null, estimated_usd: '0', runs: 4, unpriced_runs: 4 })
      Object.assign(report, {
        total: none(report.total),
        series: report.series.map(none),
        groups: report.groups.map(none),
        bars: report.bars.map(b => ({ ...b, groups: b.groups.map(none) })),
      })
      await route.fulfill({ response: answer, json: report })
    })
    await page.goto('/spend?by=model')
    await page.locator('[data-total]').getByText('unpriced').waitFor()
    const line = page.getByText('Unpriced: 4 runs have no known price and are not in the total.')
    await line.waitFor()
    expect(await page.locator('[data-bar]').first().getAttribute('aria-label')).toContain('unpriced')
    expect(await axeFaultsPassing(page)).toEqual([])
    await line.getByRole('link', { name: 'Set prices' }).click()
    await page.getByRole('listitem').filter({ hasText: 'demo-1' }).getByRole('button', { name: 'Set price' }).click()
    await page.getByRole('dialog', { name: 'New price' }).waitFor()
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).toMatch(/^demo-/)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// The comparison and the forecast must be those of the API, and the parts of a bar its own.
describe('the first look', () => {
  it('says how the period compares, where the month goes, and what a bar consists of', async () => {
    const { context, page, complaints } = await opened(desktop, '/spend')
    await page.route(/\/api\/v1\/usage\?/, async route => {
      const answer = await route.fetch()
      const report = (await answer.json()) as { total: { cost_usd: string }; from: string; to: string; zone: string }
      const before = Number(report.total.cost_usd) * 2
      const previous = { ...report.total, from: '2026-01-01T00:00:00Z', to: report.from, cost_usd: before.toFixed(9) }
      const month = { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z', so_far_usd: '20', per_day_usd: '1.5' }
      await route.fulfill({ json: { ...report, previous, forecast: { ...month, days: 7, cost_usd: '38.4' } } })
    })
    await page.goto('/spend')
    await page.getByText('50% less than the 7 days before').waitFor()
    await page.getByText('about $38').waitFor()
    await page.getByText('by 31 Jan').waitFor()
    await page.getByRole('button', { name: 'About: January forecast' }).click()
    await page.getByText('$20.00 so far this month, plus $1.50 a day for the rest').waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.keyboard.press('Escape')

    const bar = page.locator('[data-bar]').last()
    await bar.focus()
    const card = page.locator('[data-readout]')
    const [, whole = '', parts = ''] = /: (\$[\d.]+)\. (.*)$/.exec((await bar.getAttribute('aria-label')) ?? '') ?? []
    expect(await card.textContent()).toContain(whole)
    for (const part of parts.split(', ')) expect(await card.textContent()).toContain(part.split(' ').at(-1))
    await page.keyboard.press('Escape')
    await card.waitFor({ state: 'detached' })
    await bar.hover()
    await card.waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('leads from each row to its thing', async () => {
    const { context, page, complaints } = await opened(desktop, '/spend')
    for (const [by, where] of [
      ['agent', /\/agents\/c/],
      ['task', /\/tasks\?task=TASK-/],
      ['job', /\/schedules\?job=/],
    ] as const) {
      await page.goto(`/spend?period=days&by=${by}`)
      const link = page
        .getByRole('table', { name: `By ${by}`, exact: true })
        .getByRole('link')
        .first()
      // A title or a name, not an ID.
      expect(await link.textContent()).toMatch(/[A-Za-z]{3}/)
      await link.click()
      await page.waitForURL(where)
    }
    expect(complaints).toEqual([])
    await context.close()
  })

  it('has the chart within the first screen of a phone', async () => {
    const { context, page, complaints } = await opened(looks['dark phone'], '/spend')
    const chart = await page.locator('svg[role=group]').boundingBox()
    expect((chart?.y ?? 0) + (chart?.height ?? 0)).toBeLessThan(740)
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('the address', () => {
  it('keeps period, zone and everything else over a reload and the way back', async () => {
    const { context, page, complaints } = await opened(desktop, '/spend?zone=Asia/Tokyo')
    await page.getByRole('button', { name: 'Month' }).click()
    await choose(page.getByLabel('Group by', { exact: true }), 'source')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Table', exact: true }).click()
    await page.waitForURL(u => u.search.includes('zone=Asia/Tokyo') && u.search.includes('show=table'))
    await page.reload()
    await page.getByRole('table', { name: 'By source', exact: true }).waitFor()
    await page.getByText('· Asia/Tokyo').waitFor()
    expect(await page.getByRole('button', { name: 'Month' }).getAttribute('aria-pressed')).toBe('true')
    await page.getByRole('button', { name: 'Options' }).click()
    await page.getByRole('menuitem', { name: /\(Wardroom\)/ }).click()
    await page.waitForURL(u => !u.search.includes('zone='))
    await page.getByText('· Asia/Tokyo').waitFor({ state: 'detached' })
    await page.goBack()
    await page.getByText('· Asia/Tokyo').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('with a zone that there is not shows the days of the service', async () => {
    const { context, page } = await opened(desktop, '/spend?zone=Mars/Phobos')
    await page.locator('[data-bar]').first().waitFor()
    expect(await page.locator('main').textContent()).not.toContain('Mars')
    await context.close()
  })
})

describe('the bars', () => {
  it('are walked along and read by keyboard alone, also on the narrowest and the widest screen', async () => {
    for (const width of [320, 2000]) {
      const { context, page, complaints } = await opened({ ...desktop, width, height: 800 }, '/spend?period=days')
      const last = page.locator('[data-bar]').last()
      await last.waitFor()
      await last.focus()
      const here = await last.getAttribute('aria-label')
      await page.keyboard.press('ArrowLeft')
      const before = page.locator('[data-bar]:focus')
      expect(await before.getAttribute('aria-label')).not.toBe(here)
      await page.keyboard.press('Home')
      expect(
        await page
          .locator('[data-bar]')
          .first()
          .evaluate(b => b === document.activeElement),
      ).toBe(true)
      await page.keyboard.press('End')
      expect(await last.evaluate(b => b === document.activeElement)).toBe(true)
      // All bars and labels are inside the chart.
      const outside = await page.locator('svg[role=group]').evaluate(svg => {
        const box = svg.getBoundingClientRect()
        return [...svg.querySelectorAll('text, rect')].filter(e => {
          const own = e.getBoundingClientRect()
          return own.width > 0 && (own.left < box.left - 1 || own.right > box.right + 1)
        }).length
      })
      expect(outside).toBe(0)
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
      expect(complaints).toEqual([])
      await context.close()
    }
  })
})

// Concurrent changes must not be lost.
describe('the prices', () => {
  it('are changed by the owner, who is told when somebody was faster', async () => {
    await call(demo, 'PUT', '/prices', { prices: table })
    const { context, page, complaints } = await opened(desktop, '/spend?part=prices')
    await page.getByRole('button', { name: 'New price' }).click()
    const dialog = page.getByRole('dialog', { name: 'New price' })
    await dialog.getByRole('combobox', { name: 'Model' }).fill('demo-2')
    await dialog.getByRole('combobox', { name: 'Provider' }).fill('demo')
    await dialog.getByLabel('Input').fill('1,5')
    await dialog.getByLabel('Output').fill('5')
    await dialog.getByLabel('Cache read').fill('0.1')
    await dialog.getByLabel('Cache write').fill('1.25')
    await dialog.getByRole('button', { name: 'Create price' }).click()
    await dialog.getByText('Enter dollars').waitFor()
    await dialog.getByLabel('Input').fill('1.5')
    // Someone else saves first.
    await call(demo, 'PUT', '/prices', { prices: [...table, { ...table[0], from: '2026-12-01', input: '2' }] })
    await dialog.getByRole('button', { name: 'Create price' }).click()
    await dialog.getByText('Someone else changed the prices').waitFor()
    expect(await dialog.getByLabel('Input').inputValue()).toBe('1.5')
    expect(await axeFaultsPassing(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Create price' }).click()
    await dialog.waitFor({ state: 'detached' })
    const now = (await call(demo, 'GET', '/prices')) as { prices: { model: string; from: string; input: string }[] }
    expect(now.prices.map(p => [p.model, p.from, p.input])).toEqual([
      ['demo-1', '2026-11-01', '3'],
      ['demo-1', '2026-12-01', '2'],
      ['demo-2', expect.any(String), '1.5'],
    ])
    await page.getByRole('button', { name: 'Remove the price of demo-2' }).click()
    const toast = page.getByText('Price of demo-2 removed').locator('xpath=../..')
    await toast.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('button', { name: 'Remove the price of demo-2' }).waitFor()
    // The browser logs the 412.
    expect(complaints.filter(c => !c.includes('412'))).toEqual([])
    await context.close()
  })

  it('are read by everybody, who is told who may change them', async () => {
    const { context, page, complaints } = await opened(desktop, '/spend?part=prices&price=new', { ...demo, ...viewer })
    await page.getByRole('dialog').getByText('Only the owner and admins can change prices.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('note').getByText('Your role is user.').waitFor()
    await page.locator('[data-col=input]').first().waitFor()
    expect(await page.getByRole('button', { name: /price/i }).count()).toBe(0)
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

// Model names must never run as markup.
describe('hostile names', () => {
  it('are shown as they are', async () => {
    const hostile = `<img src=x onerror="document.title=1"><script>document.title=2</script>${'x'.repeat(120)}`
    await call(demo, 'PUT', '/prices', { prices: [{ ...table[0], model: hostile, provider: '<b>gnp.exe' }] })
    const { context, page, complaints } = await opened(looks['light phone'], '/spend?part=prices')
    await page.locator('[data-col=input]').first().waitFor()
    await page.getByText(hostile).first().waitFor()
    expect(await page.locator('main img, main script, main [onerror]').count()).toBe(0)
    expect(await page.title()).toBe('Prices · Spend · Wardroom')
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    await page.getByRole('button', { name: /^Edit the price/ }).click()
    await page.getByRole('dialog').getByRole('combobox', { name: 'Model' }).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('what today costs', () => {
  it('grows while one looks, in the bar, the total, the bars and the table, without a reload', async () => {
    const { context, page, complaints } = await opened(desktop, '/spend?period=today&by=task&show=table')
    await page.locator('[data-total] data').waitFor()
    await page.getByRole('banner').getByText('Live', { exact: true }).waitFor()
    const before = await total(page)
    const [task] = (await call(demo, 'GET', '/tasks?assignee=cpo&status=todo,backlog')) as { key: string }[]
    await call(demo, 'POST', `/tasks/${task?.key}/dispatch`, {})
    await page
      .getByRole('table', { name: 'By task', exact: true })
      .getByText(task?.key ?? '')
      .waitFor()
    await expect.poll(() => total(page)).toBeGreaterThan(before)
    // The bars still add up to the total.
    await expect.poll(async () => sum(await column(page, 'Over time, by task', 'whole')) - (await total(page))).toBe(0n)
    await page.getByText('Not split yet').first().waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
    await context.close()
  })

  it('says beside it what runs that go on have used so far, on Now, its tiles and here', async () => {
    const { context, page, complaints } = await opened(desktop, '/settings')
    const tokens = { input: 1, output: 0, cache_read: 0, cache_write: 0, other: 0 }
    const run = (agent_id: string, cost_usd: string | null) => ({
      ...{ agent_id, cost_usd, run_id: agent_id, session_key: `agent:${agent_id}:main`, source: 'human' },
      ...{ cost_complete: cost_usd !== null, as_of: new Date().toISOString(), estimated_usd: '0', tokens },
    })
    let runs = [run('cto', '500'), run('cpo', null)] // much more than all else
    await page.route('**/api/v1/usage/going', route =>
      route.fulfill({ json: { as_of: new Date().toISOString(), runs } }),
    )
    await page.goto('/') // anew: the bar of the page before has asked already
    const beside = page.locator('[data-going]')
    expect(await beside.textContent()).toBe('Includes $500.00 + 1 unpriced so far in active runs')
    const tiles = page.getByRole('region', { name: 'Agents' })
    await tiles.getByText(/^\$50\d\.\d\d today · .*1 active$/).waitFor()
    await tiles.getByText(/unpriced today · .*1 active$/).waitFor()
    expect(await axeFaultsPassing(page)).toEqual([])
    await page.getByRole('link', { name: 'Spend', exact: true }).first().click()
    await beside.getByRole('link', { name: 'active runs' }).waitFor()
    const bar = page.getByRole('banner')
    await bar.getByText(/^\$50\d\.\d\d \+ 1 unpriced today$/).waitFor()
    await page.getByText('Today', { exact: true }).click()
    await expect.poll(async () => sum(await column(page, 'By agent', 'cost')) - (await total(page))).toBe(0n)
    expect(await axeFaultsPassing(page)).toEqual([])
    const withActive = await total(page)
    runs = []
    await page.goto('/spend?period=today')
    await page.locator('[data-total] data').waitFor()
    await expect.poll(async () => withActive - (await total(page))).toBe(nano('500'))
    expect(await beside.count()).toBe(0)
    await page.goto('/spend?period=days&from=2026-01-01&to=2026-01-02')
    await page.getByText(/^Tracking started on/).waitFor()
    expect(await beside.count()).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('stands in the bar, leads here, and is what the place says', async () => {
    const { context, page, complaints } = await opened(desktop, '/tasks')
    await page.getByRole('banner').getByRole('link', { name: /today/ }).click()
    await page.waitForURL('**/spend?period=today')
    await page.locator('[data-total] data').waitFor()
    await expect
      .poll(async () => {
        const here = await page.locator('[data-total] data').textContent()
        return (await page.getByRole('banner').getByRole('link', { name: /today/ }).textContent())?.startsWith(
          here ?? '?',
        )
      })
      .toBe(true)
    expect(complaints).toEqual([])
    await context.close()
  })
})

// A limit helps only where people see it before it is reached.
describe('limits', () => {
  type Limits = { limits: { id: string }[] }
  const removeAll = async () => {
    for (const { id } of ((await call(demo, 'GET', '/limits')) as Limits).limits)
      await call(demo, 'DELETE', `/limits/${id}`)
  }

  it.each(sizes)(
    'start with one click, and their headroom is on Now, the agent, and in the chart, %s',
    async (_, look) => {
      const { context, page, complaints } = await opened(look, '/spend?part=limits')
      await page.getByRole('button', { name: /^Warn at \$\d+ a day and \$\d+ a run$/ }).click()
      await page.getByText(/^Everything: \$\d+ per run$/).waitFor()
      expect(await axeFaults(page)).toEqual([])
      await removeAll()

      const { series } = (await call(demo, 'GET', '/usage?group=day')) as { series: { cost_usd: string | null }[] }
      const amount = Math.ceil(Math.max(...series.map(s => Number(s.cost_usd ?? 0))) * 1.5)
      const limit = { measure: 'usd', amount: String(amount), window: 'day', action: 'tell' }
      await call(demo, 'POST', '/limits', { ...limit, scope: 'all' })
      await page.goto('/')
      await page.locator('[data-headroom]', { hasText: `of $${amount} today` }).waitFor()
      expect(await axeFaults(page)).toEqual([])
      await page.goto('/spend?period=days')
      await page.locator('[data-line]', { hasText: `Limit: $${amount} per day` }).waitFor()
      expect(await axeFaults(page)).toEqual([])
      await page.goto('/spend?period=today')
      await page.locator('[data-bar]').first().waitFor()
      expect(await page.locator('[data-line]').count()).toBe(0)

      await call(demo, 'POST', '/limits', { ...limit, scope: 'agent', scope_id: 'cto' })
      await page.goto('/agents/cto')
      await page.locator('[data-headroom]', { hasText: `of $${amount} today` }).waitFor()
      expect(await axeFaults(page)).toEqual([])
      await removeAll()
      expect(complaints).toEqual([])
      await context.close()
    },
  )
})
