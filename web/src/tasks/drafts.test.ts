import { beforeEach, describe, expect, it, vi } from 'vitest'
import { session } from '../app/session'
import { draftOf, dropDraft, keepDraft, ownerOf } from './drafts'
import { dueAt, dueDay } from './fields'

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
    expect(dueAt('0002-05-12')).toBeUndefined()
    expect(dueAt('0203-05-12')).toBeUndefined()
    expect(dueAt('')).toBeNull()
    expect(dueAt('2027-05-12')).toContain('2027-05-12T')
  })
  it.each(['Asia/Tokyo', 'America/Los_Angeles', 'UTC', undefined])('is the same day in %s', zone => {
    expect(dueDay(dueAt('2026-12-10') ?? '', zone)).toBe('2026-12-10')
  })
  it('is, for a due time, the day of the server', () => {
    expect(dueDay('2026-12-11T02:00:00.000Z', 'America/Los_Angeles')).toBe('2026-12-10')
    expect(dueDay('2026-12-11T02:00:00.000Z', 'Asia/Tokyo')).toBe('2026-12-11')
    expect(dueDay('2026-12-11T02:00:00.000Z', undefined)).toBe('2026-12-11')
  })
})
