import { describe, expect, it } from 'vitest'
import type { Told } from '../inbox/item'
import { decisionsOf, reasonOf, titlesOf, toldBlockers, withoutAge, withTitles } from './decisions'
import type { Blocker, Standup } from './standup'

const blocker = (of: Partial<Blocker>): Blocker =>
  ({ id: 'b', agent_id: 'cto', text: 'No card', task: null, status: 'open', escalated_on: null, ...of }) as Blocker
const item = (of: Partial<Told>): Told =>
  ({
    id: 'i',
    kind: 'escalation',
    state: 'open',
    title: 'Stuck',
    subject: { kind: 'standup', id: 's', name: '' },
    ...of,
  }) as Told
const about = (task: string): Told['subject'] => ({ kind: 'task', id: 'x', name: task })
const escalation = (task: string | null, title = 'Stuck') => ({ task, title, detail: '' })
const of = (s: Partial<Standup>, items: Told[] = []) =>
  decisionsOf({ escalations: [], blockers: [], ...s } as Standup, items)

// A person must find each open decision once, and none that is made.
describe('the decisions of a standup', () => {
  it('are the escalations whose blocker is open, which is not told again', () => {
    const open = blocker({ task: 'TASK-7', escalated_on: '2026-11-20' })
    const other = blocker({ id: 'c', task: 'TASK-8' })
    const d = of({ escalations: [escalation('TASK-7')], blockers: [open, other] }, [item({ subject: about('TASK-7') })])
    expect(d.open.map(o => [o.task, o.blocker, o.item?.id])).toEqual([['TASK-7', open, 'i']])
    expect(d.blockers).toEqual([other])
  })
  it('are over when the task is unblocked', () => {
    const ended = blocker({ task: 'TASK-7', status: 'ended' })
    const d = of({ escalations: [escalation('TASK-7')], blockers: [ended] })
    expect(d).toEqual({ open: [], settled: [], blockers: [ended] })
  })
  it('without a task are open while their item is', () => {
    const s = { escalations: [escalation(null)] }
    expect(of(s, [item({ state: 'acked' })]).open.map(o => o.item?.id)).toEqual(['i'])
    expect(of(s, [item({ state: 'resolved' })]).settled).toHaveLength(1)
    expect(of(s, [item({ title: 'Another' })]).settled).toHaveLength(1)
    expect(of(s, [item({ kind: 'job_failed' })]).settled).toHaveLength(1)
    // An item about a task is another matter, whatever its title.
    expect(of(s, [item({ subject: about('TASK-7') })]).settled).toHaveLength(1)
  })
  it('have the answer of the person who settled them, and none that is not a person', () => {
    const resolution = { at: '2026-11-20T09:00:00Z', by: { id: 'u1', name: 'Ada' }, note: 'Up to $40.' }
    const answer = (by: { id: string; name: string }) =>
      of({ escalations: [escalation(null)] }, [item({ state: 'resolved', resolution: { ...resolution, by } })])
        .settled[0]?.answer
    expect(answer(resolution.by)).toEqual({ by: 'Ada', text: 'Up to $40.' })
    expect(answer({ id: 'system', name: 'Wardroom' })).toBeNull()
  })
  it('are also the blockers that are old enough for the inbox', () => {
    const old = blocker({ escalated_on: '2026-11-20' })
    const d = of({ blockers: [old] }, [item({ kind: 'old_blocker', title: 'cto is blocked: No card' })])
    expect(d.open.map(o => [o.title, o.item?.id])).toEqual([['No card', 'i']])
    expect(d.blockers).toEqual([])
  })
})

// A key alone tells a reader nothing.
describe('a text with keys', () => {
  const titles = new Map([['TASK-4', 'Sign the contract']])
  it.each([
    ['Finished TASK-4, TASK-9.', 'Finished TASK-4 (Sign the contract), TASK-9.'],
    ['TASK-4 and TASK-4', 'TASK-4 (Sign the contract) and TASK-4'],
    ['TASK-4: Sign the contract', 'TASK-4: Sign the contract'],
    ['TASK-41', 'TASK-41'],
  ])('%s', (text, want) => expect(withTitles(text, titles)).toBe(want))
  it('gets the titles from the evidence', () => {
    const evidence = { finished: [{ key: 'TASK-4', title: 'Sign' }], moved: [], created: [], blocked: [] }
    expect([...titlesOf({ reports: [{ evidence }, { evidence: null }] } as unknown as Standup)]).toEqual([
      ['TASK-4', 'Sign'],
    ])
  })
})

describe('the text of a blocker', () => {
  it.each([
    ['No card (for 6 days).', 'No card'],
    ['No card (1 day)', 'No card'],
    ['No card (since today)', 'No card'],
    ['No card (for now)', 'No card (for now)'],
  ])('%s', (text, want) => expect(withoutAge(text)).toBe(want))
  const titles = new Map([['TASK-7', 'Renew it']])
  it.each([
    ['TASK-7 Renew it: No card (for 6 days).', 'No card'],
    ['TASK-7: No card', 'No card'],
    ['No card for TASK-7', 'No card for TASK-7'],
    ['TASK-7 Renew it', 'TASK-7 Renew it'],
  ])('%s, beside its task', (text, want) => expect(reasonOf({ text, task: 'TASK-7' }, titles)).toBe(want))
})

// A report may hide only what the page tells elsewhere.
describe('the blockers of a report', () => {
  const told = [blocker({ task: 'TASK-7' }), blocker({ task: 'TASK-8' }), blocker({ task: null })]
  it.each([
    ['- TASK-7 Renew it: No card\n\n- TASK-8', ['TASK-7', 'TASK-8']],
    ['- TASK-7 No card\n- No money', null],
    ['- TASK-9 No card', null],
    ['', null],
  ])('%o', (text, want) => expect(toldBlockers(text, told)).toEqual(want))
})
