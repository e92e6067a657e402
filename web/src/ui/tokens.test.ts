import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const css = readFileSync('src/ui/tokens.css', 'utf8')

function tokens(theme: string): Record<string, string> {
  const block = css.slice(css.indexOf(`[data-theme="${theme}"] {`)).split('}')[0] ?? ''
  return Object.fromEntries([...block.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map(m => [m[1], m[2]]))
}

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map(i => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a = '', b = ''): number {
  const [x, y] = [luminance(a), luminance(b)]
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05)
}

const states = ['active', 'idle', 'attention', 'danger', 'done', 'accent']

// Minimum contrast: 4.5 for text on every background, 3 for outlines of controls.
describe.each(['light', 'dark'])('the %s theme', theme => {
  const t = tokens(theme)
  const grounds = ['ground', 'panel', 'raised', 'hover']

  it.each(['ink', 'soft', ...states])('%s can be read on every ground', text => {
    for (const ground of grounds)
      expect(contrast(t[text], t[ground]), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5)
  })
  it.each(states)('%s can be read on its own tint, and so can plain text', state => {
    for (const text of [state, 'ink']) {
      expect(contrast(t[text], t[`${state}-tint`]), `${text} on ${state}-tint`).toBeGreaterThanOrEqual(4.5)
    }
  })
  // Chart colors are not text, but must be visible.
  it.each(['a', 'b', 'c', 'd', 'e', 'f', 'rest'])('part %s of a bar can be seen on every ground', name => {
    for (const ground of grounds)
      expect(contrast(t[`chart-${name}`], t[ground]), `chart-${name} on ${ground}`).toBeGreaterThanOrEqual(3)
  })
  it('has buttons that can be read and fields that can be seen', () => {
    expect(contrast(t['on-accent'], t.accent)).toBeGreaterThanOrEqual(4.5)
    for (const ground of ['ground', 'panel', 'raised'])
      expect(contrast(t['line-strong'], t[ground])).toBeGreaterThanOrEqual(3)
  })
})
