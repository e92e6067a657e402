import { beforeEach, describe, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { draftOf, dropDraft, keepDraft, ownerOf } from './drafts'
import { eveningOf, localDay } from './fields'

const tokenOf = (sub: string, n = 1) => `x.${btoa(JSON.stringify({ sub, n })).replaceAll('=', '')}.y`

const leaving = new EventTarget()
vi.stubGlobal('addEventListener', leaving.addEventListener.bind(leaving))
vi.stubGlobal('removeEventListener', leaving.removeEventListener.bind(leaving))

/** Returns whether the browser would ask before closing the tab. */
const asks = () => !leaving.dispatchEvent(new Event('beforeunload', { cancelable: true }))

beforeEach(() => {
  session.signIn(tokenOf('ada'))
  keepDraft('comment', '1', 'half a sentence')
})

// A draft belongs to its author only.
describe('a draft', () => {
  it('is kept until it is dropped', () => {
    expect(draftOf('comment', '1')).toBe('half a sentence')
    expect(draftOf('comment', '2')).toBe('')
    dropDraft('comment', '1')
    expect(draftOf('comment', '1')).toBe('')
  })
  it('has the browser ask before the tab goes, until it is sent', () => {
    expect(asks()).toBe(true)
    dropDraft('comment', '1')
    expect(asks()).toBe(false)
  })
  it('outlives a token that ends, for the same person', () => {
    session.refused(tokenOf('ada'), 'token_expired')
    session.signIn(tokenOf('ada', 2))
    expect(draftOf('comment', '1')).toBe('half a sentence')
  })
  it('is gone for the next person, and when one signs out', () => {
    session.refused(tokenOf('ada'), 'token_expired')
    session.signIn(tokenOf('bob'))
    expect(draftOf('comment', '1')).toBe('')
    keepDraft('comment', '1', 'of bob')
    session.signOut()
    session.signIn(tokenOf('bob'))
    expect(draftOf('comment', '1')).toBe('')
  })
  it('is nobody’s when a token cannot be read', () => {
    expect(ownerOf('strange')).toBeNull()
    session.signIn('strange')
    expect(draftOf('comment', '1')).toBe('')
  })
})

// While the year is typed, every digit makes a valid date.
describe('a day', () => {
  it('is sent when somebody can mean it', () => {
    expect(eveningOf('0002-05-12')).toBeUndefined()
    expect(eveningOf('0203-05-12')).toBeUndefined()
    expect(eveningOf('')).toBeNull()
    expect(eveningOf('2027-05-12')).toContain('2027-05-12T')
  })
  it('is read back as it is, whatever its year', () => {
    expect(localDay('0003-05-12T12:00:00Z')).toBe('0003-05-12')
    expect(localDay('2027-01-02T12:00:00Z')).toBe('2027-01-02')
  })
})
