import { describe, expect, it } from 'vitest'
import { type Block, type Inline, readMarkdown, safeHref } from './markdown'

const links = (nodes: (Block | Inline)[]): string[] =>
  nodes.flatMap(n => [
    ...(n.kind === 'link' ? [n.href] : []),
    ...('of' in n ? links(n.of) : []),
    ...('items' in n ? n.items.flatMap(i => links(i.of)) : []),
  ])
const words = (nodes: (Block | Inline)[]): string =>
  nodes
    .map(n =>
      'text' in n ? n.text : 'items' in n ? n.items.map(i => words(i.of)).join('|') : 'of' in n ? words(n.of) : ' ',
    )
    .join('')

// Agents' links must not run scripts or disguise their address.
describe('links', () => {
  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\tscript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '//evil.example',
    '/relative',
    'https:evil',
    'http://user:pass@evil.example',
    'https://',
    'blob:https://x/y',
  ])('%j is none', href => expect(safeHref(href)).toBeNull())
  it.each(['https://example.com/a?b=c#d', 'http://127.0.0.1:3000/', 'mailto:ada@example.com'])('%s is one', href =>
    expect(safeHref(href)).toBe(href),
  )
  it('that must not be followed stay as they were written', () => {
    const tree = readMarkdown('see [here](javascript:alert(1)) and ![x](https://evil.example/p.png)')
    expect(words(tree)).toContain('javascript:alert')
    expect(links(tree)).toEqual(['https://evil.example/p.png'])
  })
})

/** The maximum length of a standup report. */
const n = 200_000

describe('a text', () => {
  it('becomes blocks', () => {
    const tree = readMarkdown(
      '# Head\n\nOne **two** `three`\n\n- a\n- [x] b\n  - c\n\n> q\n\n```go\nfunc main() {}\n```\n\n---\n1. x\n2. y',
    )
    expect(tree.map(b => b.kind)).toEqual(['heading', 'paragraph', 'list', 'quote', 'code', 'rule', 'list'])
    expect(tree[2]).toMatchObject({ ordered: false, items: [{ done: null }, { done: true }] })
    expect(tree[4]).toEqual({ kind: 'code', text: 'func main() {}', language: 'go' })
  })
  it('becomes a table', () => {
    const text = 'Costs:\n| Agent | `a\\|b` |\n|:--|--:|\n| **cto** | 1 | more |\n| coo\n\nAfter'
    const tree = readMarkdown(text)
    expect(tree.map(b => b.kind)).toEqual(['paragraph', 'table', 'paragraph'])
    const cell = (text: string): Inline[] => [{ kind: 'text', text }]
    expect(tree[1]).toEqual({
      kind: 'table',
      columns: ['left', 'right'],
      head: [cell('Agent'), [{ kind: 'code', text: 'a|b' }]],
      rows: [[[{ kind: 'strong', of: cell('cto') }], cell('1')], [cell('coo')]],
    })
  })
  it.each(['a | b', 'a | b\n---', 'a | b\n--- | --- | ---', 'a\n-', '|\n\n|-|', 'a | b\nc | d'])(
    '%j is no table',
    text => expect(readMarkdown(text).map(b => b.kind)).not.toContain('table'),
  )
  it('keeps markup as text', () => {
    const hostile = '<script>alert(1)</script><img src=x onerror=alert(1)>'
    expect(readMarkdown(hostile)).toEqual([{ kind: 'paragraph', of: [{ kind: 'text', text: hostile }] }])
  })
  it('keeps snake_case and 2 * 3 * 4 as they are', () =>
    expect(words(readMarkdown('snake_case_name and 2 * 3 * 4'))).toBe('snake_case_name and 2 * 3 * 4'))
  // Each input once caused quadratic time or worse: 10,000 backticks took 37 s. The limit is generous, for busy
  // machines.
  it.each(
    Object.entries({
      ticks: '`'.repeat(n),
      'ticks between words': `x${'`'.repeat(n)}x`,
      'ticks of many lengths': Array.from({ length: 500 }, (_, i) => '`'.repeat(i)).join(' '),
      'single ticks': [...'`a'.repeat(n / 2), '``'].join(''),
      'a heading that is spaces': `# x${' '.repeat(n)}x`,
      'a heading that is spaces and marks': `# x${' #  '.repeat(n / 4)}x`,
      'a fence of spaces': `\`\`\`${' '.repeat(n)}\``,
      'a fence of letters': `\`\`\`${'a'.repeat(n)} \``,
      'a fence that is none': `${'~'.repeat(n)} \``,
      'a rule that is none': `${'- '.repeat(n / 2)}x`,
      'a rule of spaces': `--${' '.repeat(n)}x`,
      'an item of spaces': `- ${' '.repeat(n)}x\u2028`,
      stars: '*'.repeat(n),
      'emphasis without an end': '*a **b _c __d ~~e '.repeat(n / 18),
      'emphasis in emphasis': '**a*_b_~~c__d'.repeat(n / 13),
      'ends without emphasis': `*a ${' *'.repeat(n / 2)}`,
      brackets: '['.repeat(n),
      'links without an end': '[a](b "'.repeat(n / 7),
      'links of spaces': `[a](b${' '.repeat(n)}`,
      'an address of dots': `http://${'....a'.repeat(n / 5)}`,
      'addresses that are none': 'https://... '.repeat(n / 12),
      quotes: '>'.repeat(n),
      'quotes of items': '>- '.repeat(n / 3),
      items: '- a\n'.repeat(n / 4),
      'items with room': '- a\n\n'.repeat(n / 5),
      'nested items': Array.from({ length: n / 20 }, (_, i) => `${' '.repeat(i % 12)}- a`).join('\n'),
      bars: '|'.repeat(n),
      'a wide table with many short rows': `${'a|'.repeat(n / 8)}\n${'-|'.repeat(n / 8)}\n${'x\n'.repeat(n / 4)}`,
      'many tables': 'a|b\n-|-\n\n'.repeat(n / 9),
      'heads without a table': 'a|b\n-|-|-\n'.repeat(n / 10),
      'an item and nothing': `- a${'\n'.repeat(n)}`,
      nothing: '\n'.repeat(n),
      backslashes: '\\'.repeat(n),
    }),
  )('is not read for long: %s', (_, text) => {
    const start = performance.now()
    readMarkdown(text)
    expect(performance.now() - start).toBeLessThan(20_000)
  })
  it('never fails, whatever it is', () => {
    const pieces = [
      '*',
      '**',
      '_',
      '`',
      '```',
      '[',
      ']',
      '(',
      ')',
      '\n',
      '\n\n',
      '- ',
      '1. ',
      '> ',
      '#',
      ' ',
      'a',
      'https://x.y',
      '\\',
      '\u202e',
      '~~',
      '  ',
    ]
    let seed = 3
    for (let i = 0; i < 3000; i++) {
      let s = ''
      for (let j = 0; j < 20; j++) {
        seed = (seed * 1103515245 + 12345) % 2147483648
        s += pieces[seed % pieces.length]
      }
      expect(links(readMarkdown(s)).every(l => l.startsWith('https://'))).toBe(true)
    }
  })
})
