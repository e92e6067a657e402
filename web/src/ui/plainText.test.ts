import { describe, expect, it } from 'vitest'
import { headline } from '../app/headline'
import { plainText } from './plainText'

describe('plain text', () => {
  // Lists show an agent's last words without asterisks and fences.
  it.each([
    ['**Done.** See `make test` and [the log](https://example.com/a).', 'Done. See make test and the log.'],
    ['# Yesterday\n\n- one\n- *two*\n\n> quoted', 'Yesterday one two quoted'],
    [
      '## Yesterday - Finished TASK-16. - Worked on TASK-12. ## Today - More',
      'Yesterday: Finished TASK-16. · Worked on TASK-12. Today: More',
    ],
    ['Update. **Yesterday** * Finished TASK-2 **Tod', 'Update. Yesterday · Finished TASK-2 Tod'],
    ['Here it is. ```json { "summary": "Since', 'Here it is.'],
    ['Before ```json\n{}\n``` after', 'Before after'],
    ['```\nmake test\n```', 'make test'],
    ['| a | b | |---|---| | 1 | 2 |', 'a b 1 2'],
    ['| a | b |\n|---|---|\n| 1 | 2 |', 'a b 1 2'],
    ['5 * 3 costs $1,180.17, a-b_c and 1. first', '5 * 3 costs $1,180.17, a-b_c and 1. first'],
    ['<b>bold</b> & <script>', '<b>bold</b> & <script>'],
    [null, ''],
  ])('of %j', (text, want) => expect(plainText(text)).toBe(want))

  it('is what a headline is made of', () => expect(headline('- **One** done. Two.')).toBe('One done.'))
})
