import { describe, expect, it } from 'vitest'
import { Latest } from './latest'

const row = (id: string, version: number) => ({ id, version })

describe('a part of a list that comes late', () => {
  const latest = () => new Latest<ReturnType<typeof row>>((next, was) => next.version > was.version)

  it('undoes nothing that changed meanwhile', () => {
    const known = latest()
    known.put(row('a', 3))
    expect(known.of(row('a', 2))).toEqual(row('a', 3))
  })

  it('is taken as it is where nothing changed, or where it knows more', () => {
    const known = latest()
    const read = row('a', 3)
    expect(known.of(read)).toBe(read)
    known.put(row('a', 3))
    expect(known.of(read)).toBe(read)
    known.put(row('a', 2))
    expect(known.of(row('a', 2))?.version).toBe(3)
  })

  it('brings nothing back that is gone, until it is there again', () => {
    const known = latest()
    known.drop('a')
    expect(known.of(row('a', 9))).toBeNull()
    known.put(row('a', 10))
    expect(known.of(row('a', 9))).toEqual(row('a', 10))
  })

  it('forgets what is long past', () => {
    const known = latest()
    known.drop('a')
    for (let n = 0; n < 2_000; n++) known.put(row(`b${n}`, 1))
    expect(known.of(row('a', 1))).toEqual(row('a', 1))
  })
})
