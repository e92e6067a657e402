import { describe, expect, it } from 'vitest'
import { safeReturnPath } from './returnPath'

// An open redirect after sign-in would allow phishing.
describe('the way back', () => {
  it.each(['/tasks?task=TASK-1', '/', '/agents/coo'])('%s is taken', to => expect(safeReturnPath(to)).toBe(to))
  it.each([
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '',
    undefined,
    7,
    '/login',
    '/login?back=/login',
    '/register',
    '/register?back=/register',
    '/\t/evil.example',
    '/\n/evil.example',
  ])('%j is not', to => expect(safeReturnPath(to)).toBeUndefined())
})
