import { describe, expect, it } from 'vitest'
import { csv } from './csv'

// An agent's text that a spreadsheet runs as a formula is a way in.
describe('a table for a spreadsheet', () => {
  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ['=HYPERLINK("x")', '"\'=HYPERLINK(""x"")"'],
    ['@cmd', "'@cmd"],
    ['-1+1', "'-1+1"],
    ['two\nlines', '"two\nlines"'],
    // What parts cells in other countries.
    ['a;=1+1', "a;'=1+1"],
    ['a;"=1+1;b', '"a;""\'=1+1;b"'],
    ['two\n-1; @x', '"two\n\'-1; @x"'],
  ])('%j is %s', (text, want) => expect(csv([[text, 'z']])).toBe(`${want},z\r\n`))
})
