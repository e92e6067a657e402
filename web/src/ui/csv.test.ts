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
  ])('%j is %s', (text, want) => expect(csv([[text, 'z']])).toBe(`${want},z\r\n`))
})
