import type { Page } from 'playwright-core'

/**
 * Returns what does not fit on the page as it is now, one line each: what is wider than the window, cut off, or covered
 * by a control. A name or title may end in "…" if enough of it is left to read. Waits until the page has its data and has
 * been the same for ten frames.
 */
export async function layoutFaults(page: Page): Promise<string[]> {
  await page.waitForFunction(() => {
    const last = globalThis as unknown as { was?: string; frames?: number }
    const now = document.body.innerHTML
    const isLoading = document.fonts.status === 'loading' || document.querySelector('.skeleton') !== null
    last.frames = now === last.was && !isLoading ? (last.frames ?? 0) + 1 : 0
    last.was = now
    return last.frames >= 10
  })
  return page.evaluate(() => {
    /** The width of the focus ring with its offset in px, see `:focus-visible` in tokens.css. */
    const ring = 3
    /** The least that may be left of a text that is cut, in px. */
    const readable = 48
    const controls = 'a[href], button, input:not([aria-hidden]), select, textarea, summary, [role=switch], [role=tab]'
    const cells = '[role=cell], [role=columnheader], td, th'
    const labels = 'button, [role=tab], legend, label, [role=cell], [role=columnheader], td, th'
    /** What is swiped by design: the board, the days of the standups, code, and on a phone figures. */
    const swiped = `.snap-x, [data-scroll=own], fieldset, pre${innerWidth < 600 ? ', section:has(> table)' : ''}`
    /** What lies over other things by design, and hides them. */
    const layers = 'aside, [role=dialog], [data-base-ui-portal], [role=region][aria-live]'
    const faults = new Set<string>()

    const textOf = (s: string | null | undefined) => `"${(s ?? '').replace(/\s+/g, ' ').trim().slice(0, 40)}"`
    const nameOf = (e: Element) =>
      `${e.getAttribute('role') ?? e.localName} ${textOf(e.getAttribute('aria-label') ?? e.textContent)}`
    const styles = new Map<Element, CSSStyleDeclaration>()
    const styleOf = (e: Element) => {
      const style = styles.get(e) ?? getComputedStyle(e)
      styles.set(e, style)
      return style
    }
    /** Whether an element cuts its content off at its sides, and does not say so with "…". */
    const cuts = (e: Element) =>
      styleOf(e).overflowX !== 'visible' &&
      styleOf(e).textOverflow !== 'ellipsis' &&
      styleOf(e).webkitLineClamp === 'none' &&
      !e.matches('input, textarea')
    type Box = Pick<DOMRect, 'left' | 'top' | 'right' | 'bottom'>
    /** Returns what the ancestors from e on leave of a box, or null. */
    const seen = (e: Element | null, of: Box): Box | null => {
      let { left, top, right, bottom } = of
      for (let p = e; p && p !== document.body; p = p.parentElement) {
        const { overflowX, overflowY, position } = styleOf(p)
        const box = p.getBoundingClientRect()
        if (overflowX !== 'visible') [left, right] = [Math.max(left, box.left), Math.min(right, box.right)]
        if (overflowY !== 'visible') [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)]
        if (position === 'fixed') break
      }
      return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom } : null
    }
    /** Whether an element is a part of a text that ends with "…" within the window. */
    const isShortened = (e: Element) => {
      for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
        if (styleOf(p).textOverflow === 'ellipsis') return p.getBoundingClientRect().right <= innerWidth + 1
      return false
    }
    const overlap = (a: Box, b: Box) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2
    /** Whether an element is drawn, now or on hover, and not only for screen readers. */
    const isDrawn = (e: Element) => {
      const { width, height } = e.getBoundingClientRect()
      return width > 1 && height > 1 && e.checkVisibility({ visibilityProperty: true }) && !e.closest('.sr-only')
    }
    const drawn = [...document.body.querySelectorAll('*')].filter(e => !e.closest('svg *') && isDrawn(e))

    const root = document.documentElement
    if (root.scrollWidth > root.clientWidth)
      faults.add(`the page is ${root.scrollWidth - root.clientWidth} px too wide`)

    for (const e of drawn) {
      const box = e.getBoundingClientRect()
      const own = styleOf(e)
      const [wider, higher] = [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]
      // A scrollbar for a pixel or two, or below tabs, is a mistake.
      if (/auto|scroll/.test(own.overflowY) && higher > 0 && (higher < 4 || e.matches('[role=tablist]')))
        faults.add(`scrolls by ${higher} px: ${nameOf(e)}`)
      const isSwiped = e.parentElement?.closest(swiped) !== null
      if (!isSwiped && box.right > innerWidth + 1 && seen(e.parentElement, box) && !isShortened(e))
        faults.add(`too far right: ${nameOf(e)}`)
      if (!isSwiped && e.matches(`${controls}, ${cells}`))
        for (let p: Element | null = e.parentElement; p && p !== document.body; p = p.parentElement) {
          const of = p.getBoundingClientRect()
          const by = Math.ceil(Math.max(box.right - of.right, of.left - box.left))
          if (cuts(p) && by > 1) faults.add(`cut off by ${by} px: ${nameOf(e)}`)
          if (cuts(p) || styleOf(p).position === 'fixed') break
        }
      if (wider <= 1 || own.display === 'inline' || !e.textContent?.trim()) continue
      // Names of people and titles, which are within bdi, have any length. Labels have not.
      const label = e.closest(labels)
      const isLabel = label && !e.closest('bdi') && !e.querySelector('bdi')
      if (isLabel && (label === e || own.overflowX !== 'visible'))
        faults.add(`text is cut by ${wider} px: ${nameOf(e)}`)
      if (own.textOverflow === 'ellipsis' && own.overflowX !== 'visible' && e.clientWidth < readable)
        faults.add(`only ${e.clientWidth} px are left: ${nameOf(e)}`)
    }

    type Line = { text: Node; of: Element; line: Box; box: Box }
    /** Returns what is seen of the lines of the texts in an element. */
    const linesOf = (e: Element): Line[] => {
      const found: Line[] = []
      const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT)
      while (texts.nextNode()) {
        const text = texts.currentNode
        const of = text.parentElement
        if (!of || !text.nodeValue?.trim() || !isDrawn(of)) continue
        const range = document.createRange()
        range.selectNodeContents(text)
        for (const line of range.getClientRects())
          found.push(...[seen(of, line) ?? []].flat().map(box => ({ text, of, box, line })))
      }
      return found
    }
    /** Returns where a control is: its box, or the lines of a link, whose box only makes it easier to hit. */
    const placesOf = (e: Element): Box[] =>
      e.matches('a') ? linesOf(e).map(l => l.box) : [seen(e.parentElement, e.getBoundingClientRect()) ?? []].flat()
    const boxes = drawn.filter(e => e.matches(controls)).flatMap(e => placesOf(e).map(box => ({ e, box })))
    const layerOf = (e: Element) => {
      for (let p: Element | null = e; p; p = p.parentElement)
        if (p.matches(layers) || styleOf(p).position === 'sticky') return p
      return null
    }
    const isBeside = (control: Element, e: Element) =>
      !control.contains(e) && !e.closest('label')?.contains(control) && layerOf(control) === layerOf(e)
    for (const { text, of, box, line } of linesOf(document.body)) {
      let clip: Element | null = of
      while (clip && styleOf(clip).overflowX === 'visible') clip = clip.parentElement
      if (clip && /hidden|clip/.test(styleOf(clip).overflowX) && cuts(clip) && line.right > box.right + 1)
        faults.add(`cut by ${Math.ceil(line.right - box.right)} px: ${textOf(text.nodeValue)}`)
      const head = of.closest('[role=columnheader], [role=tab], button')?.getBoundingClientRect()
      const row = of.closest('[role=row]')?.getBoundingClientRect() ?? head
      if (head && row && (line.bottom > row.bottom + 1 || line.top < row.top - 1))
        faults.add(`sticks out of its row: ${textOf(text.nodeValue)}`)
      for (const c of boxes)
        if (overlap(c.box, box) && isBeside(c.e, of)) faults.add(`${nameOf(c.e)} lies on ${textOf(text.nodeValue)}`)
    }
    for (const { e, box } of boxes) {
      if (!(e instanceof HTMLInputElement) || !/^(text|search|email|password|number)$/.test(e.type)) continue
      const { paddingLeft, paddingRight } = styleOf(e)
      const typed = {
        ...box,
        left: box.left + Number.parseFloat(paddingLeft),
        right: box.right - Number.parseFloat(paddingRight),
      }
      for (const c of boxes)
        if (c.e !== e && isBeside(c.e, e))
          if (overlap({ ...c.box, left: c.box.left - ring, right: c.box.right + ring }, typed))
            faults.add(`${nameOf(c.e)} lies on what is typed in ${textOf(e.labels?.[0]?.textContent ?? e.name)}`)
    }
    return [...faults]
  })
}
