import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { hues } from './hue'

const css = readFileSync('src/ui/tokens.css', 'utf8')

function tokens(theme: string): Record<string, string> {
  const block = css.slice(css.indexOf(`[data-theme="${theme}"] {`)).split('}')[0] ?? ''
  return Object.fromEntries([...block.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6});/g)].map(m => [m[1], m[2]]))
}

type Light = [r: number, g: number, b: number]

/** Returns the linear light of a color, from 0 to 1. */
function light(hex: string): Light {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map(i => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  })
  return [r, g, b]
}

const dot = (row: Light, [r, g, b]: Light): number => row[0] * r + row[1] * g + row[2] * b

const luminance = (hex: string): number => dot([0.2126, 0.7152, 0.0722], light(hex))

function contrast(a = '', b = ''): number {
  const [x, y] = [luminance(a), luminance(b)]
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05)
}

/** How people see linear light: with all cones, and without one kind (Machado, Oliveira and Fernandes, 2009). */
const eyes: Record<string, [Light, Light, Light]> = {
  'all colors': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  'no red': [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  'no green': [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  'no blue': [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
}

/** Returns a color in CIELAB, where distances are about as large as they look. */
function lab(hex: string, eye: [Light, Light, Light]): Light {
  const seen = eye.map(row => Math.min(1, Math.max(0, dot(row, light(hex))))) as Light
  const curve = (v: number) => (v > 0.008856 ? Math.cbrt(v) : 7.787 * v + 16 / 116)
  const x = curve(dot([0.4124564, 0.3575761, 0.1804375], seen) / 0.95047)
  const y = curve(dot([0.2126729, 0.7151522, 0.072175], seen))
  const z = curve(dot([0.0193339, 0.119192, 0.9503041], seen) / 1.08883)
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}

const states = ['active', 'idle', 'attention', 'danger', 'accent']

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
  // Parts of charts are not text, but must be visible.
  it.each([...hues.map(h => `hue-${h}`), 'chart-rest'])('%s can be seen on every ground', name => {
    for (const ground of grounds) expect(contrast(t[name], t[ground]), `${name} on ${ground}`).toBeGreaterThanOrEqual(3)
  })
  it.each(hues)('letters can be read on the face of color %s', hue =>
    expect(contrast(t['on-hue'], t[`hue-${hue}`])).toBeGreaterThanOrEqual(4.5),
  )
  // 2.3 is just visible side by side; 10 is visible apart.
  it.each(Object.keys(eyes))('has faces that can be told apart by eyes with %s', name => {
    const seen = hues.map(h => lab(t[`hue-${h}`] ?? '', eyes[name] as [Light, Light, Light]))
    for (const [i, a] of seen.entries())
      for (const [j, b] of seen.slice(0, i).entries())
        expect(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), `${i + 1} and ${j + 1}`).toBeGreaterThanOrEqual(10)
  })
  it('has buttons that can be read and fields that can be seen', () => {
    expect(contrast(t['on-accent'], t.accent)).toBeGreaterThanOrEqual(4.5)
    for (const ground of ['ground', 'panel', 'raised'])
      expect(contrast(t['line-strong'], t[ground])).toBeGreaterThanOrEqual(3)
  })
})

// What succeeded was once purple in some places and green in others.
it('has one color for what succeeded', () => {
  const retired = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(tsx|css)$/.test(name))
    .filter(name => /-(done|chart-[a-f])\b/.test(readFileSync(`src/${name}`, 'utf8')))
  expect(retired).toEqual([])
})

// Native fields look different on each system, and a native date can read as another one.
it('has no native select, date, or time field', () => {
  const native = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.tsx'))
    .filter(name => /<select\b|type="(date|time|datetime-local|month|week)"/.test(readFileSync(`src/${name}`, 'utf8')))
  expect(native).toEqual([])
})
