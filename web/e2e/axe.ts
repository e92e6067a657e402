import axe, { type AxeResults, type RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { short } from './browser.ts'

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const contrast = 'color-contrast'

/**
 * Returns axe's findings on the page, one line each. Themes differ only in their colors, so each size is checked in one
 * theme (see `sizes`), and the contrast in both unless the run is short.
 */
export async function axeFaults(page: Page): Promise<string[]> {
  const found = await violations(page, {
    runOnly: { type: 'tag', values: tags },
    rules: { [contrast]: { enabled: false } },
  })
  found.push(...(await violations(page, { runOnly: { type: 'rule', values: [contrast] } })))
  if (short) return found
  const dark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)
  await page.emulateMedia({ colorScheme: dark ? 'light' : 'dark' })
  found.push(...(await violations(page, { runOnly: { type: 'rule', values: [contrast] } })))
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
  return found
}

/** Like `axeFaults`, but nothing in a short run: for states that a flow passes through on a page that another test checks. */
export const axeFaultsPassing = (page: Page): Promise<string[]> => (short ? Promise.resolve([]) : axeFaults(page))

/**
 * Contrast checks take axe a thousand times as long as comparing styles. Of all texts with the same color, size,
 * weight, and background, axe checks only one, preferably one that is visible.
 */
async function violations(page: Page, options: RunOptions): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  return page.evaluate(
    async ({ options, alike }) => {
      const lookOf = new Map<Element, string>()
      const look = (e: Element): string => {
        const known = lookOf.get(e)
        if (known !== undefined) return known
        const s = getComputedStyle(e)
        const behind = e.parentElement ? look(e.parentElement).split('\n')[0] : ''
        const ground = `${s.backgroundColor}${s.backgroundImage}${s.opacity}${s.filter}${s.mixBlendMode} ${behind}`
        const text = `${s.color}${s.fontSize}${s.fontWeight}${s.textShadow}${s.visibility}`
        lookOf.set(e, `${ground}\n${text}`)
        return `${ground}\n${text}`
      }
      const texts = () => {
        const one = new Map<string, { e: Element; seen: boolean }>()
        for (const e of document.body.querySelectorAll('*')) {
          const field = e.matches('input, select, textarea')
          if (!field && ![...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.nodeValue?.trim())) continue
          const { width, height, left, right, top, bottom } = e.getBoundingClientRect()
          const seen = width * height > 1 && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight
          // Contrast rules exempt disabled and hidden texts, so these must not represent others.
          const exempt = e.closest(':disabled, [aria-disabled=true], [aria-hidden=true], [inert]') !== null
          const key = `${field ? e.tagName : ''}${exempt}${look(e)}`
          if (!one.has(key) || (seen && !one.get(key)?.seen)) one.set(key, { e, seen })
        }
        return { include: [...one.values()].map(o => o.e) }
      }
      const { axe } = globalThis as unknown as { axe: { run: (on: unknown, o: RunOptions) => Promise<AxeResults> } }
      // axe would first read all style sheets and media, which matter only to sound and video. There are none.
      const how: RunOptions = { ...options, resultTypes: ['violations'], preload: false }
      const found = await axe.run(alike ? texts() : document, how)
      // Popups have guards that pass the focus on at once, and need no landmark, because the focus is within them.
      const isOfPopup = (rule: string, target: unknown) =>
        (rule === 'aria-hidden-focus' &&
          document.querySelector(String(target))?.matches('[data-base-ui-focus-guard]')) ||
        (rule === 'region' && document.querySelector(String(target))?.closest('[data-base-ui-portal]'))
      return found.violations.flatMap(v =>
        v.nodes
          .filter(n => !isOfPopup(v.id, n.target[0]))
          .map(n => `${v.id}: ${n.target.join(' ')} ${n.failureSummary ?? ''}`),
      )
    },
    { options, alike: options.rules === undefined },
  )
}
