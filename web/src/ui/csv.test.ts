import { describe, expect, it } from 'vitest'
import { csv, csvFile } from './csv'

// Agents' texts must not run as spreadsheet formulas.
describe('a table for a spreadsheet', () => {
  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ['=HYPERLINK("x")', '"\'=HYPERLINK(""x"")"'],
    ['@cmd', "'@cmd"],
    [' =1+1', "' =1+1"],
    ['\ufeff=1+1', "'\ufeff=1+1"],
    ['-1+1', "'-1+1"],
    ['-0.5', '-0.5'],
    ['two\nlines', '"two\nlines"'],
    // Cell separators in other locales.
    ['a;=1+1', "a;'=1+1"],
    ['a;"=1+1;b', '"a;""\'=1+1;b"'],
    ['two\n-1; @x', '"two\n\'-1; @x"'],
  ])('%j is %s', (text, want) => expect(csv([[text, 'z']])).toBe(`${want},z\r\n`))
})

// Without the mark, Excel shows "é" as two wrong letters.
it('a saved table begins with a byte order mark', async () => {
  const bytes = new Uint8Array(await csvFile([['café']]).arrayBuffer())
  expect([...bytes.slice(0, 3)]).toEqual([0xef, 0xbb, 0xbf])
})
