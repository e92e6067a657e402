import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { texts } from '../texts'
import { deedOf, linesOf, type Names, parentsIn } from './historyText'

const names: Names = {
  people: new Map([['u1', { id: 'u1', name: 'CTO', agent: 'cto', active: true }]]),
  things: new Map([
    ['t1', 'TASK-4'],
    ['p1', 'Plans'],
  ]),
  zone: 'UTC',
}

/** The Go sources without tests. */
const sources = readdirSync('../internal', { recursive: true, encoding: 'utf8' })
  .filter(f => f.endsWith('.go') && !f.endsWith('_test.go'))
  .map(f => readFileSync(`../internal/${f}`, 'utf8'))
  .join('\n')
const kinds = [...new Set(sources.match(/(?<=")(?:task|comment)\.[a-z_]+(?=")/g))]

describe('what the service writes about tasks', () => {
  it('is found in its sources', () => {
    expect(kinds).toContain('task.spent')
    expect(kinds).toContain('task.dispatch_waits')
    expect(kinds).toContain('comment.deleted')
  })
  it.each(kinds)('%s has a word', kind => {
    expect(texts.tasks.historyKind[kind]).toBeTruthy()
    expect(deedOf({ kind, data: {} })).not.toContain(kind)
  })
  const code = readFileSync('../internal/task/task.go', 'utf8')
  const struct = /type Task struct {[\s\S]*?\n}\n/.exec(code)?.[0] ?? ''
  const consequences = /var consequences = .*/.exec(code)?.[0] ?? ''
  // Fields that never change, or that events of their own report.
  const others = 'id key reporter_id origin created_at comment_count cost_usd cost_complete tokens dispatch'.split(' ')
  const fields = [...struct.matchAll(/json:"([a-z_]+)"/g)]
    .map(m => m[1] ?? '')
    .filter(f => !others.includes(f) && !consequences.includes(`"${f}"`))
  it('names the fields that can change', () => expect(fields).toContain('depends_on'))
  it.each(fields)('the field %s has a word', field => expect(texts.tasks.historyField[field]).toBeTruthy())
  const reports = [...readFileSync('../internal/task/report.go', 'utf8').matchAll(/ Kind = "([a-z]+)"/g)].map(m => m[1])
  it('names the kinds of reports', () => expect(reports).toContain('blocker'))
  it.each(reports)('a report of kind %s has a word', kind => expect(texts.tasks.reported[kind ?? '']).toBeTruthy())
})

describe('a change', () => {
  const lines = (changes: Record<string, unknown>, more = {}) =>
    linesOf({ kind: 'task.changed', data: { changes, ...more } }, names)
  it('of a claim says who has it and until when', () => {
    const [line] = lines({ claim: [null, { by: 'u1', name: 'CTO', expires_at: '2026-11-22T05:33:31.794Z' }] })
    expect(line).toMatchObject({ text: expect.stringMatching(/^Claimed by CTO until .*22 Nov 2026/) })
    expect(lines({ claim: [{ by: 'u1', name: 'CTO', expires_at: 'x' }, null] })).toEqual([
      { text: texts.tasks.claimedNoMore },
    ])
  })
  it('names what ids stand for', () => {
    expect(lines({ assignee_id: [null, 'u1'], parent_id: ['t1', null], project_id: ['gone', 'p1'] })).toEqual([
      { field: 'Assigned to', from: '–', to: 'CTO' },
      { field: 'Parent task', from: 'TASK-4', to: '–' },
      { field: 'Project', from: texts.tasks.someProject, to: 'Plans' },
    ])
  })
  it('names the due day, which is the same for everyone', () => {
    const [day] = lines({ due_at: ['2026-12-09T23:59:59.999Z', '2026-12-10T23:59:59.999Z'] })
    expect(day).toEqual({ field: 'Due', from: '9 Dec 2026', to: '10 Dec 2026' })
  })
  it('never shows what only a machine reads', () => {
    const all = lines(
      {
        blocked: [null, { reason: 'No access', by: 'CTO', since: 'x' }],
        position: ['5', '51'],
        description: [0, 120],
        depends_on: [[], ['TASK-1', 'TASK-2']],
        archived_at: [null, '2026-11-20T08:00:00.000Z'],
      },
      { deleted: 'TASK-9', held_by: { by: 'u1', name: 'CTO', expires_at: 'x' } },
    )
    expect(JSON.stringify(all)).not.toMatch(/[{}[\]]\\|\\"/)
    expect(all).toContainEqual({ field: 'Blocked', from: '–', to: 'No access' })
    expect(all).toContainEqual({ field: 'Waiting for', from: '–', to: 'TASK-1, TASK-2' })
  })
  it('finds the tasks that it has to know', () =>
    expect(parentsIn([{ kind: 'task.changed', data: { changes: { parent_id: ['t1', null] } } }])).toEqual(['t1']))
})

describe('a dispatch', () => {
  it('tells whose it is, why it waits, and why it failed', () => {
    const event = (kind: string, dispatch: object, more = {}) => ({ kind, data: { dispatch, ...more } })
    const failed = event('task.dispatch_ended', { agent_id: 'cto', state: 'failed', error: { detail: 'No room.' } })
    expect(deedOf(failed)).toBe(`${texts.tasks.historyKind['task.dispatch_ended_badly']}: cto`)
    expect(linesOf(failed, names)).toEqual([{ text: 'No room.' }])
    const waits = event('task.dispatch_waits', {
      agent_id: 'cto',
      state: 'queued',
      waiting: 'It is away.',
      error: null,
    })
    expect(linesOf(waits, names)).toEqual([{ text: 'It is away.' }])
    const ended = event('task.dispatch_ended', { agent_id: 'cto', state: 'ended' }, { answer: 'Done.' })
    expect(linesOf(ended, names)).toEqual([])
  })
})
