import { describe, expect, it } from 'vitest'
import { begin, inTurn, withAwaited } from './pendingChanges'
import type { Task } from './task'

const task = (status: Task['status'], version: number) => ({ id: 't', key: 'TASK-1', status, version }) as Task

// Moving a card faster than the server answers must not make it jump back.
describe('changes that are on their way', () => {
  it('outlast what is read meanwhile, the last of them most', () => {
    const first = begin('t', { status: 'todo' })
    const second = begin('t', { status: 'backlog' })
    first() // its response and event arrive after the second change was made
    expect(withAwaited(task('todo', 2))).toEqual(task('backlog', 2))
    second()
    expect(withAwaited(task('backlog', 3))).toEqual(task('backlog', 3))
    expect(withAwaited(task('done', 4)).status).toBe('done')
  })

  it('are of their task alone', () => {
    const end = begin('other', { status: 'todo' })
    expect(withAwaited(task('review', 1)).status).toBe('review')
    end()
  })

  it('are sent one after the other, also after one that was refused', async () => {
    const seen: string[] = []
    const answers: (() => void)[] = []
    const send =
      (name: string, refused = false) =>
      () =>
        new Promise<string>((done, fail) => {
          seen.push(name)
          answers.push(() => (refused ? fail(new Error(name)) : done(name)))
        })
    const all = [inTurn('t', send('a', true)), inTurn('t', send('b')), inTurn('u', send('of another'))]
    expect(seen).toEqual(['a', 'of another'])
    answers[0]?.()
    await expect(all[0]).rejects.toThrow('a')
    await expect.poll(() => seen).toEqual(['a', 'of another', 'b'])
    answers[1]?.()
    answers[2]?.()
    expect(await Promise.all(all.slice(1))).toEqual(['b', 'of another'])
    const later = inTurn('t', send('c'))
    expect(seen).toHaveLength(4)
    answers[3]?.()
    await later
  })
})
