import { describe, expect, it } from 'vitest'
import { changeOf, type Draft, diff, diffLines, draftOf, isBegun, newOf, rebase } from './draft'
import type { Definition, Job } from './job'

const was: Draft = {
  name: 'report',
  description: '',
  agentId: 'cto',
  expr: '0 9 * * 1-5',
  once: '',
  tz: 'Europe/Berlin',
  message: 'Write the report.',
  delivery: 'none',
  taskTitle: '',
  taskText: '',
  taskPriority: 'medium',
}

// The review must show exactly the changes that are sent.
describe('the difference of a job', () => {
  it('has the fields that become others, and nothing else', () => {
    const wanted = { ...was, expr: '0 10 * * 1-5', name: 'weekly report' }
    expect(diff(was, wanted).map(d => [d.field, d.from, d.to])).toEqual([
      ['name', 'report', 'weekly report'],
      ['expr', '0 9 * * 1-5', '0 10 * * 1-5'],
    ])
    expect(changeOf(was, wanted, 'r1')).toEqual({
      configRevision: 'r1',
      name: 'weekly report',
      schedule: { expr: '0 10 * * 1-5', tz: 'Europe/Berlin' },
    })
  })
  it('is nothing when only space differs', () => {
    expect(diff(was, { ...was, expr: ' 0  9 * * 1-5 ', name: ' report ', message: 'Write the report.\n' })).toEqual([])
    expect(changeOf(was, { ...was, name: ' report' }, 'r1')).toEqual({ configRevision: 'r1' })
  })
  it('sends the expression along with another zone, because the two belong together', () =>
    expect(changeOf(was, { ...was, tz: 'UTC' }, 'r').schedule).toEqual({ expr: '0 9 * * 1-5', tz: 'UTC' }))
  it('sends the task of each run whole, or null once its title is empty', () => {
    const has: Draft = { ...was, taskTitle: 'Report', taskText: 'Numbers.', taskPriority: 'high' }
    expect(changeOf(was, { ...was, taskText: 'Without a title' }, 'r')).toEqual({ configRevision: 'r' })
    expect(changeOf(has, { ...has, taskText: 'More' }, 'r').task).toEqual({
      title: 'Report',
      description: 'More',
      priority: 'high',
    })
    expect(changeOf(has, { ...has, taskTitle: ' ' }, 'r').task).toBeNull()
    expect(newOf(has, true).task).toEqual({ title: 'Report', description: 'Numbers.', priority: 'high' })
  })
  it('reads a job as it is', () => {
    const job = {
      name: 'report',
      description: '',
      agentId: 'cto',
      schedule: { kind: 'cron', expr: '0 9 * * 1-5', tz: 'Europe/Berlin' },
      payload: { kind: 'agentTurn', message: 'Write the report.' },
      delivery: { mode: 'none' },
      task: null,
    } as Definition & Pick<Job, 'task'>
    expect(draftOf(job)).toEqual(was)
  })
  it('leaves out what a new job need not say', () =>
    expect(newOf({ ...was, tz: '' }, false)).toEqual({
      name: 'report',
      agentId: 'cto',
      enabled: false,
      schedule: { expr: '0 9 * * 1-5' },
      payload: { message: 'Write the report.' },
      delivery: { mode: 'none' },
    }))
  it('of a job that runs once is a moment instead of an expression', () =>
    expect(newOf({ ...was, once: '2026-12-02T09:00' }, true).schedule).toEqual({
      kind: 'at',
      at: '2026-12-02T08:00:00.000Z',
    }))
})

describe('a new job', () => {
  it('is begun once somebody wrote something, and not by what is only chosen', () => {
    const blank = { ...was, name: ' ', message: '', description: '\n' }
    expect(isBegun(blank)).toBe(false)
    for (const field of ['name', 'message', 'description'] as const) {
      expect(isBegun({ ...blank, [field]: 'Look' })).toBe(true)
    }
  })
})

// Saving after a conflict must keep the other user's changes.
describe('a change over a newer job', () => {
  it('keeps theirs where one changed nothing, and has its own where both did', () => {
    const theirs = { ...was, description: 'theirs', expr: '0 8 * * *' }
    const yours = { ...was, name: 'mine', expr: '0 10 * * *' }
    expect(rebase(was, theirs, yours)).toEqual({ ...was, name: 'mine', description: 'theirs', expr: '0 10 * * *' })
    expect(diff(theirs, rebase(was, theirs, yours)).map(d => d.field)).toEqual(['name', 'expr'])
  })
})

describe('lines', () => {
  const marks = (from: string, to: string) => diffLines(from, to).map(l => l.mark + l.text)
  it('that stay are between those that go and come', () =>
    expect(marks('a\nb\nc', 'a\nx\nc\nd')).toEqual([' a', '−b', '+x', ' c', '+d']))
  it('of equal texts all stay', () => expect(marks('a\nb', 'a\nb')).toEqual([' a', ' b']))
  it('of very long texts are not compared for ever', () => {
    const long = Array.from({ length: 1000 }, (_, i) => `line ${i}`).join('\n')
    expect(diffLines(long, `${long}\nmore`)).toHaveLength(2001)
  })
  it('give both texts back', () => {
    const [from, to] = ['one\ntwo\n\nthree\ntwo', 'zero\ntwo\nthree\n\nfour']
    const lines = diffLines(from, to)
    const only = (mark: string) => lines.filter(l => l.mark === ' ' || l.mark === mark).map(l => l.text)
    expect(only('−').join('\n')).toBe(from)
    expect(only('+').join('\n')).toBe(to)
  })
})
