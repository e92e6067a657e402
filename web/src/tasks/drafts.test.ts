import { afterEach, expect, it } from 'vitest'
import { session } from '../app/session'
import { draftOf, dropDraft, keepDraft } from './drafts'

afterEach(() => dropDraft('comment', 't1'))

it('keeps what was begun, for each thing by itself', () => {
  keepDraft('comment', 't1', 'Half a com')
  expect(draftOf('comment', 't1')).toBe('Half a com')
  expect(draftOf('comment', 't2')).toBe('')
  expect(draftOf('note', 't1')).toBe('')
  keepDraft('comment', 't1', '')
  expect(draftOf('comment', 't1')).toBe('')
})

// The next one at this machine must not read what the last one was about to say.
it('forgets everything when somebody signs out', () => {
  session.signIn('token')
  keepDraft('comment', 't1', 'Half a com')
  session.signOut()
  expect(draftOf('comment', 't1')).toBe('')
})
