import { describe, expect, it } from 'vitest'
import { argumentsText, matchesOf, mostMatches } from './find'
import type { Call, Step, StepKind } from './steps'

const step = (kind: StepKind, text: string, calls: Partial<Call>[] = []): Step => ({ kind, text, calls }) as Step
const call = (args: string, result: string | null): Partial<Call> => ({ arguments: args, arguments_cut: 0, result })

describe('search in a transcript', () => {
  const steps = [
    step('said', 'Run the **tests**, all tests'),
    step('tools', '', [call('{"command":"ls"}', 'a.go'), call('{"command":"go test"}', 'ok\nTEST passed')]),
    step('text', 'Nothing here, `test`ed'),
  ]
  it('finds what is read, in order, whatever its case and markup', () => {
    expect(matchesOf(steps, ' Test ')).toEqual([
      { step: 0, call: -1, nth: 0 },
      { step: 0, call: -1, nth: 1 },
      { step: 1, call: 1, nth: 0 },
      { step: 1, call: 1, nth: 1 },
      { step: 2, call: -1, nth: 0 },
    ])
    expect(matchesOf(steps, 'the tests, all')).toHaveLength(1)
    expect(matchesOf(steps, '**')).toEqual([])
    expect(matchesOf(steps, ' ')).toEqual([])
  })
  it('stops counting before it takes long', () => {
    expect(matchesOf([step('error', 'e'.repeat(20_000))], 'e')).toHaveLength(mostMatches)
  })
  it('sees arguments as they are shown', () => {
    expect(argumentsText(call('{"path":"a","n":[1]}', null) as Call)).toBe('path: a\nn: [\n  1\n]')
    expect(argumentsText(call('{"id":12345678901234567}', null) as Call)).toBe('{"id":12345678901234567}')
    expect(argumentsText(call('not json', null) as Call)).toBe('not json')
  })
})
