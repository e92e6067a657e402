import { describe, expect, it } from 'vitest'
import { safeBack } from './back'

// An open redirect after sign-in would allow phishing.
describe('the way back', () => {
  it.each(['/tasks?task=TASK-1', '/', '/agents/coo'])('%s is taken', to => expect(safeBack(to)).toBe(to))
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
  ])('%j is not', to => expect(safeBack(to)).toBeUndefined())
})
